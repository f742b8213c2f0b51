"""The whole build: the same rows however they are made, and nothing left where they cannot be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from openrecipes.problems import Place, ProblemsError
from openrecipes.rows import build as build_module
from openrecipes.rows import workers as workers_module
from openrecipes.rows.build import BuildSettings, build
from openrecipes.rows.embedded_tokenizer import EMBEDDED
from openrecipes.rows.fingerprint import RowsHash
from openrecipes.rows.manifest import Manifest, manifest_path, read_manifest
from openrecipes.rows.parquet import read_rows
from openrecipes.rows.source import open_source
from openrecipes.rows.tokenizer import Tokenizer

Chats = Callable[[int], list[dict[str, Any]]]
Write = Callable[..., Path]

FIXTURE = Path(__file__).resolve().parents[2] / "data" / "fixtures" / "conversations.jsonl"
# Rows of the shipped conversations, 64 x 256, seed 42, embedded vocabulary. A change here is a change of the rows.
FIXTURE_ROWS_SHA256 = "f0998c026094f2a67d7e7986acdce9a271041402ea3d7af76c18c703eb78eac7"


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def settings(rows: int, row_tokens: int = 32, **more: Any) -> BuildSettings:
    given = {"name": "test", "tokenizer": EMBEDDED, "seed": 42, "rows": rows, "row_tokens": row_tokens, **more}
    return BuildSettings(**given)


def everything(manifest: Manifest) -> dict[str, Any]:
    """The manifest without what may differ between two builds of the same rows."""
    document = manifest.model_dump()
    for key in ("wall_time_s", "source", "parquet_sha256", "parquet_bytes"):
        document.pop(key)
    document["conversations"].pop("first_skipped")
    return document


def test_the_shipped_conversations_give_these_rows(tmp_path: Path) -> None:
    manifest = build(open_source(FIXTURE), settings(64, 256), tmp_path / "rows.parquet")
    assert manifest.rows_sha256 == FIXTURE_ROWS_SHA256
    assert manifest == read_manifest(tmp_path / "rows.parquet")
    assert (manifest.rows, manifest.row_tokens, manifest.tokens) == (64, 256, 64 * 256)
    assert 0.4 < manifest.supervised_token_ratio < 0.8
    assert manifest.tokenizer.eos_id == 248046
    counts = manifest.conversations
    assert counts.read == counts.used + sum(counts.skipped.values()) < counts.available
    assert sum(share.conversations for share in counts.shares.values()) == counts.used


def test_the_manifest_counts_what_the_file_holds(tmp_path: Path) -> None:
    manifest = build(open_source(FIXTURE), settings(20, 100), tmp_path / "rows.parquet")
    rows = list(read_rows(tmp_path / "rows.parquet"))
    made = RowsHash(100)
    for row in rows:
        made.add(np.frombuffer(row.tokens, "<i4"), np.frombuffer(row.loss_mask, np.uint8))
    assert made.sha256() == manifest.rows_sha256
    assert len(rows) == manifest.rows == 20
    assert sum(sum(row.loss_mask) for row in rows) == manifest.supervised_tokens


def test_another_seed_gives_other_rows_and_the_same_seed_the_same(tmp_path: Path, jsonl: Write, chats: Chats) -> None:
    source = open_source(jsonl(chats(200)))
    hashes = [
        build(source, settings(50, seed=seed), tmp_path / f"{index}.parquet").rows_sha256
        for index, seed in enumerate((1, 1, 2))
    ]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize("sizes", [(1, 1), (7, 1), (1000, 1), (1, 20_000), (7, 20_000), (1000, 20_000)])
def test_batches_and_memory_do_not_change_rows_or_counts(
    tmp_path: Path, jsonl: Write, chats: Chats, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, int]
) -> None:
    batch, held = sizes
    records = [*chats(300), {"messages": []}]
    source = open_source(jsonl(records))
    plain = build(source, settings(150), tmp_path / "plain.parquet")
    monkeypatch.setattr(build_module, "_CONVERSATIONS_PER_BATCH", batch)
    monkeypatch.setattr(build_module, "_TEXT_HELD_BYTES", held)
    other = build(source, settings(150), tmp_path / "other.parquet")
    assert everything(plain) == everything(other)


def test_every_kind_of_source_gives_the_same_rows(tmp_path: Path, jsonl: Write, chats: Chats) -> None:
    records = chats(120)
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "one.parquet", row_group_size=11)
    folder = tmp_path / "folder"
    folder.mkdir()
    for index in range(3):
        table = pa.Table.from_pylist(records[index * 40 : index * 40 + 40])
        pq.write_table(table, folder / f"part-{index:05}-of-00003.parquet", row_group_size=5, compression="none")
    made = [
        build(open_source(path), settings(100), tmp_path / f"{index}.rows.parquet")
        for index, path in enumerate((jsonl(records), tmp_path / "one.parquet", folder))
    ]
    assert everything(made[0]) == everything(made[1]) == everything(made[2])


@pytest.mark.parametrize("threads", [0, 4])
def test_two_workers_give_the_rows_of_one(
    tmp_path: Path, jsonl: Write, chats: Chats, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    records = [*chats(900), {"messages": None}, {"messages": [{"role": "user", "content": "x"}]}]
    source = open_source(jsonl(records))
    one = build(source, settings(1_000), tmp_path / "one.parquet")
    monkeypatch.setattr(workers_module, "_MOST_THREADS", threads)
    two = build(source, settings(1_000, workers=2), tmp_path / "two.parquet")
    assert everything(one) == everything(two)


def test_a_source_that_is_too_small_says_how_many_rows_it_gives_and_leaves_nothing(
    tmp_path: Path, jsonl: Write, chats: Chats
) -> None:
    source = open_source(jsonl([*chats(20), {"messages": []}]))
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(ProblemsError) as caught:
        build(source, settings(10_000), out / "rows.parquet")
    problem, skipped = caught.value.problems
    assert problem.rule == "source-too-small"
    assert problem.what.endswith("20 of its 21 conversations can be used")
    assert (skipped.rule, skipped.severity) == ("conversation-skipped", "warning")
    assert skipped.place == Place(file=str(tmp_path / "source.jsonl"), line=21)
    assert skipped.what == "no-messages; the only one left out for that"
    assert names_in(out) == []
    possible = int(problem.what.split("gives ")[1].split(" rows")[0])
    assert build(source, settings(possible), out / "rows.parquet").rows == possible
    with pytest.raises(ProblemsError):
        build(source, settings(possible + 1), out / "more.parquet")


def test_a_source_without_one_usable_conversation_says_why(tmp_path: Path, jsonl: Write) -> None:
    source = open_source(jsonl([{"messages": []}, {"text": "x"}, 7]))
    with pytest.raises(ProblemsError) as caught:
        build(source, settings(1), tmp_path / "rows.parquet")
    assert "gives 0 rows" in caught.value.problems[0].what
    assert caught.value.problems[1].what == "no-messages; the first of 3 left out for that"


def test_what_was_left_out_is_told_in_line_order(tmp_path: Path) -> None:
    path = tmp_path / "source.jsonl"
    path.write_text('{"messages": 5}\nnot json\n{"messages": [{"role": "user"}]}\n', encoding="utf-8")
    with pytest.raises(ProblemsError) as caught:
        build(open_source(path), settings(1), tmp_path / "rows.parquet")
    assert [problem.place.line for problem in caught.value.problems] == [None, 1, 2, 3]


@pytest.mark.parametrize("there", ["rows.parquet", "rows.parquet.manifest.json"])
def test_what_exists_is_replaced_only_when_asked(tmp_path: Path, jsonl: Write, chats: Chats, there: str) -> None:
    source = open_source(jsonl(chats(50)))
    (tmp_path / there).write_text("precious", encoding="utf-8")
    with pytest.raises(ProblemsError) as caught:
        build(source, settings(5), tmp_path / "rows.parquet")
    assert caught.value.exit_status == 1
    assert caught.value.problems[0].rule == "output-exists"
    assert (tmp_path / there).read_text(encoding="utf-8") == "precious"
    build(source, settings(5), tmp_path / "rows.parquet", replace=True)
    assert read_manifest(tmp_path / "rows.parquet").rows == 5


def test_odd_records_are_counted_with_the_place_of_the_first(tmp_path: Path, jsonl: Write, chats: Chats) -> None:
    path = jsonl(chats(2))
    with path.open("ab") as file:
        file.write(b"{broken\n\xff\xfe\n" + b'{"a":' * 5_000 + b"\n")
        file.write(b'{"messages": [{"role": "user", "content": "\\ud800"}, {"role": "assistant", "content": "x"}]}\n')
    source = open_source(path)
    with pytest.raises(ProblemsError) as caught:
        build(source, settings(10_000), tmp_path / "rows.parquet")
    assert "2 of its 6 conversations" in caught.value.problems[0].what
    skipped = {problem.what.partition(";")[0]: problem for problem in caught.value.problems[1:]}
    assert set(skipped) == {"not-json", "text-with-lone-surrogate"}
    assert "the first of 3" in skipped["not-json"].what
    assert skipped["not-json"].place.line in (3, 4, 5)
    assert skipped["text-with-lone-surrogate"].place.line == 6


def test_a_conversation_of_ten_megabytes_is_just_long(tmp_path: Path, jsonl: Write) -> None:
    long = {"messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "word " * 2_000_000}]}
    manifest = build(open_source(jsonl([long])), settings(100, 8192), tmp_path / "rows.parquet")
    assert manifest.rows == 100
    assert manifest.conversations.longest_tokens > 2_000_000


def test_a_huggingface_tokenizer_builds_rows_of_its_own(
    tmp_path: Path, jsonl: Write, chats: Chats, tokenizer_folder: Path, qwen_form: Tokenizer
) -> None:
    manifest = build(
        open_source(jsonl(chats(60))), settings(20, tokenizer=str(tokenizer_folder)), tmp_path / "rows.parquet"
    )
    assert manifest.tokenizer.name == str(tokenizer_folder / "tokenizer.json")
    assert manifest.tokenizer.sha256 == qwen_form.sha256
    assert manifest.tokenizer.template_sha256 is not None
    assert manifest.tokenizer.eos_id == qwen_form.eos_id


def test_progress_counts_up_to_the_rows_asked(tmp_path: Path, jsonl: Write, chats: Chats) -> None:
    seen: list[tuple[int, int]] = []
    build(
        open_source(jsonl(chats(60))), settings(20), tmp_path / "rows.parquet", progress=lambda *pair: seen.append(pair)
    )
    assert seen == [(index, 20) for index in range(1, 21)]
    assert manifest_path(tmp_path / "rows.parquet").exists()
