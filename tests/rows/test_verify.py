"""Rows counted again: what is wrong is found, and named once."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from openrecipes.problems import UsageError
from openrecipes.rows.build import BuildSettings, build
from openrecipes.rows.embedded_tokenizer import EMBEDDED
from openrecipes.rows.manifest import Manifest, manifest_path
from openrecipes.rows.source import open_source
from openrecipes.rows.verify import verify

Edit = Callable[[list[dict[str, Any]]], None]


@pytest.fixture
def built(
    tmp_path: Path, jsonl: Callable[..., Path], chats: Callable[[int], list[dict[str, Any]]]
) -> tuple[Path, Manifest]:
    settings = BuildSettings(name="test", tokenizer=EMBEDDED, rows=70, row_tokens=32, seed=1)
    path = tmp_path / "rows.parquet"
    return path, build(open_source(jsonl(chats(100))), settings, path)


def rewrite(path: Path, edit: Edit, **options: Any) -> None:
    """The same file with edited rows."""
    table = pq.read_table(path)
    rows = table.to_pylist()
    edit(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path, **options)


def keys(path: Path) -> list[str]:
    return [problem.place.key for problem in verify(path).problems]


def rule_and_key(path: Path) -> list[tuple[str, str]]:
    return [(problem.rule, problem.place.key) for problem in verify(path).problems]


def test_rows_as_built_are_ok(built: tuple[Path, Manifest]) -> None:
    path, manifest = built
    verified = verify(path)
    assert verified.ok
    assert verified.problems == ()
    document = verified.document()
    assert document == {
        "ok": True,
        "rows": 70,
        "row_tokens": 32,
        "rows_sha256": manifest.rows_sha256,
        "parquet_sha256": manifest.parquet_sha256,
        "parquet_bytes": manifest.parquet_bytes,
        "supervised_token_ratio": manifest.supervised_token_ratio,
        "padding_tokens": 0,
        "problems": [],
    }


def test_the_same_rows_in_another_parquet_form_keep_their_hash_but_not_the_files(built: tuple[Path, Manifest]) -> None:
    path, manifest = built
    rewrite(path, lambda _: None, row_group_size=3, compression="none")
    assert verify(path).rows_sha256 == manifest.rows_sha256
    assert keys(path) == ["parquet_bytes", "parquet_sha256"]


def swap(rows: list[dict[str, Any]]) -> None:
    rows[0], rows[1] = rows[1], rows[0]


def drop(rows: list[dict[str, Any]]) -> None:
    rows.pop()


def token(rows: list[dict[str, Any]]) -> None:
    rows[5]["metadata"]["tokens"] = b"\1\0\0\0" + rows[5]["metadata"]["tokens"][4:]


def mask(rows: list[dict[str, Any]]) -> None:
    flipped = bytes([1 - rows[5]["metadata"]["loss_mask"][9]])
    rows[5]["metadata"]["loss_mask"] = (
        rows[5]["metadata"]["loss_mask"][:9] + flipped + rows[5]["metadata"]["loss_mask"][10:]
    )


FILE = ["parquet_bytes", "parquet_sha256"]


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (swap, ["rows_sha256"]),
        (token, ["rows_sha256"]),
        (mask, ["rows_sha256", "supervised_tokens"]),
        (drop, ["rows", "rows_sha256", "supervised_tokens"]),
    ],
)
def test_a_changed_row_is_found(built: tuple[Path, Manifest], edit: Edit, found: list[str]) -> None:
    path, _ = built
    rewrite(path, edit)
    assert not verify(path).ok
    assert sorted(set(keys(path)) - set(FILE)) == found


def short(metadata: dict[str, Any]) -> None:
    metadata["tokens"], metadata["loss_mask"] = metadata["tokens"][:-4], metadata["loss_mask"][:-1]


def uneven(metadata: dict[str, Any]) -> None:
    metadata["tokens"] = metadata["tokens"][:-1]


def untargeted(metadata: dict[str, Any]) -> None:
    metadata["loss_mask"] = b"\1" + bytes(31)


def two(metadata: dict[str, Any]) -> None:
    metadata["loss_mask"] = b"\2" * 32


def outside(metadata: dict[str, Any]) -> None:
    metadata["tokens"] = (248_077).to_bytes(4, "little") * 32


def negative(metadata: dict[str, Any]) -> None:
    metadata["tokens"] = b"\xff" * 128


def missing(metadata: dict[str, Any]) -> None:
    metadata["tokens"] = None


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (short, "has 31 tokens where the first row has 32"),
        (uneven, "not 4 bytes for each byte of its mask"),
        (missing, "not 4 bytes for each byte of its mask"),
        (untargeted, "has no supervised token after its first"),
        (two, "its mask holds 2"),
        (outside, "outside the vocabulary of 248,077"),
        (negative, "holds token ids -1 to -1"),
    ],
)
def test_a_row_that_no_trainer_should_get_is_named(
    built: tuple[Path, Manifest], edit: Callable[[dict[str, Any]], None], says: str
) -> None:
    path, _ = built
    rewrite(path, lambda rows: edit(rows[65]["metadata"]))
    problems = [problem for problem in verify(path).problems if problem.rule == "row-form"]
    assert [problem.place.key for problem in problems] == ["row 65"]
    assert says in problems[0].what


def test_padding_is_counted(built: tuple[Path, Manifest]) -> None:
    path, _ = built

    def pad(rows: list[dict[str, Any]]) -> None:
        metadata = rows[3]["metadata"]
        metadata["tokens"] = metadata["tokens"][: 28 * 4] + (248_044).to_bytes(4, "little") * 4
        metadata["loss_mask"] = metadata["loss_mask"][:28] + bytes(4)

    rewrite(path, pad)
    assert verify(path).padding_tokens == 4
    assert "padding_tokens" in keys(path)


def test_a_manifest_that_is_missing_or_edited_is_a_problem(built: tuple[Path, Manifest]) -> None:
    path, _ = built
    document = json.loads(manifest_path(path).read_text(encoding="utf-8"))
    for edit, found in (({"rows": 71}, ["rows"]), ({"rows": "many", "extra": 1}, ["extra", "rows"])):
        manifest_path(path).write_text(json.dumps({**document, **edit}), encoding="utf-8")
        assert keys(path) == found
    manifest_path(path).write_text("{", encoding="utf-8")
    assert not verify(path).ok
    manifest_path(path).unlink()
    verified = verify(path)
    assert [problem.rule for problem in verified.problems] == ["manifest-there"]
    assert (verified.rows, verified.exit_status) == (70, 2)


def test_a_cut_off_file_is_not_ok_and_a_missing_one_is_wrong_usage(
    built: tuple[Path, Manifest], tmp_path: Path
) -> None:
    path, _ = built
    path.write_bytes(path.read_bytes()[:-10])
    assert verify(path).exit_status == 1
    assert sorted(rule_and_key(path)) == [
        ("manifest-agrees", "parquet_bytes"),
        ("manifest-agrees", "parquet_sha256"),
        ("rows-readable", ""),
    ]
    with pytest.raises(UsageError):
        verify(tmp_path / "none.parquet")


def test_rows_damaged_inside_are_one_problem_beside_the_bytes(built: tuple[Path, Manifest]) -> None:
    path, _ = built
    whole = path.read_bytes()
    path.write_bytes(whole[:300] + bytes(200) + whole[500:])
    assert sorted(rule_and_key(path)) == [("manifest-agrees", "parquet_sha256"), ("rows-readable", "")]
    assert verify(path).rows_sha256 is None
