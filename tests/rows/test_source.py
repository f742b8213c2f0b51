"""Conversations found by number, in files of either kind."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from openrecipes.problems import Place, ProblemsError, UsageError
from openrecipes.rows.named_source import named_source
from openrecipes.rows.source import open_source

Chats = Callable[[int], list[dict[str, Any]]]
Write = Callable[..., Path]


def fetched(path: Path, indices: list[int]) -> list[Any]:
    return [json.loads(record) for record in open_source(path).fetch(np.array(indices, dtype=np.int64))]


def parquet(path: Path, records: list[dict[str, Any]], group: int = 10) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(records), path, row_group_size=group)
    return path


def shards(folder: Path, records: list[dict[str, Any]], count: int) -> Path:
    size = -(-len(records) // count)
    for index in range(count):
        parquet(
            folder / "data" / f"train-{index:05}-of-{count:05}.parquet", records[index * size : (index + 1) * size], 7
        )
    return folder


def test_the_same_records_come_from_every_kind_of_source(tmp_path: Path, jsonl: Write, chats: Chats) -> None:
    records, asked = chats(50), [49, 0, 7, 7, 23, 30]
    expected = [records[index] for index in asked]
    for path in (jsonl(records), parquet(tmp_path / "one.parquet", records), shards(tmp_path / "folder", records, 3)):
        assert fetched(path, asked) == expected
        assert len(open_source(path)) == 50


def test_places_name_file_and_line_or_row(tmp_path: Path, jsonl: Write, chats: Chats) -> None:
    source = open_source(shards(tmp_path / "folder", chats(50), 3))
    assert source.place_below(0) == "data/train-00000-of-00003.parquet:row 0"
    assert source.place_below(20) == "data/train-00001-of-00003.parquet:row 3"
    shard = tmp_path / "folder" / "data" / "train-00001-of-00003.parquet"
    assert source.place(20) == Place(file=str(shard), key="row 3")
    one = jsonl(chats(3))
    assert open_source(one).place_below(2) == "source.jsonl:line 3"
    assert open_source(one).place(2) == Place(file=str(one), line=3)


def test_blank_lines_are_no_conversations_and_line_numbers_stay_true(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'\n{"a": 1}\r\n   \n\n{"a": 2}')
    source = open_source(path)
    assert [json.loads(record) for record in source.fetch(np.array([0, 1]))] == [{"a": 1}, {"a": 2}]
    assert [source.place_below(index) for index in (0, 1)] == ["x.jsonl:line 2", "x.jsonl:line 5"]


def test_a_missing_shard_is_named(tmp_path: Path, chats: Chats) -> None:
    folder = shards(tmp_path / "folder", chats(50), 4)
    (folder / "data" / "train-00002-of-00004.parquet").unlink()
    with pytest.raises(ProblemsError) as caught:
        open_source(folder)
    assert [problem.rule for problem in caught.value.problems] == ["source-shard"]
    assert caught.value.problems[0].place.file.endswith("data/train-00002-of-00004.parquet")


def test_a_cut_off_parquet_file_is_named(tmp_path: Path, chats: Chats) -> None:
    path = parquet(tmp_path / "x.parquet", chats(200))
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    with pytest.raises(ProblemsError) as caught:
        open_source(path)
    assert caught.value.problems[0].rule == "source-readable"
    path.write_bytes(whole[:200] + b"\0" * 400 + whole[600:])
    with pytest.raises(ProblemsError) as caught:
        fetched(path, list(range(200)))
    assert caught.value.problems[0].rule == "source-readable"


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (pa.table({"prompt": ["x"], "answer": ["y"]}), "has no column messages, but prompt, answer"),
        (pa.table({"messages": ["x"]}), "its column messages holds string, not lists"),
    ],
)
def test_wrong_columns_are_named(tmp_path: Path, table: pa.Table, says: str) -> None:
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(ProblemsError) as caught:
        open_source(tmp_path / "x.parquet")
    assert says in caught.value.problems[0].what


@pytest.mark.parametrize("name", ["empty.jsonl", "blank.jsonl", "empty.parquet"])
def test_an_empty_file_is_said_to_be_empty(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"messages": pa.array([], pa.list_(pa.struct([("role", pa.string())])))}), path)
    else:
        path.write_text("" if name.startswith("empty") else " \n\n", encoding="utf-8")
    with pytest.raises(ProblemsError) as caught:
        open_source(path)
    assert caught.value.problems[0].rule == "source-empty"


def test_what_is_no_source_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "none.jsonl", tmp_path / "x.csv", tmp_path / "folder"):
        with pytest.raises(UsageError):
            open_source(path)
    with pytest.raises(UsageError):
        named_source("no such thing")


def test_a_shipped_source_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = named_source("data/fixtures/conversations.jsonl")
    assert len(source) > 5_000
    assert source.name == "data/fixtures/conversations.jsonl"
