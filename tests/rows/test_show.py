"""A row decoded."""

from collections.abc import Callable
from pathlib import Path

import pytest

from openrecipes.problems import ProblemsError, UsageError
from openrecipes.rows.build import BuildSettings, build
from openrecipes.rows.embedded_tokenizer import EMBEDDED
from openrecipes.rows.manifest import manifest_path, read_manifest
from openrecipes.rows.show import decoded_row
from openrecipes.rows.source import open_source


@pytest.fixture
def path(tmp_path: Path, jsonl: Callable[..., Path]) -> Path:
    records = [
        {
            "messages": [
                {"role": "user", "content": f"question {i}"},
                {"role": "assistant", "content": f"answer שלום {i}"},
            ]
        }
        for i in range(30)
    ]
    settings = BuildSettings(name="test", tokenizer=EMBEDDED, rows=10, row_tokens=50, seed=1)
    build(open_source(jsonl(records)), settings, tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def test_spans_cover_the_row_and_tell_what_is_supervised(path: Path) -> None:
    row = decoded_row(path, 3)
    assert [span.first for span in row.spans[1:]] == [span.last + 1 for span in row.spans[:-1]]
    assert (row.spans[0].first, row.spans[-1].last) == (0, 49)
    assert all(one.supervised != other.supervised for one, other in zip(row.spans, row.spans[1:], strict=False))
    supervised = [span for span in row.spans if span.supervised]
    assert sum(span.last - span.first + 1 for span in supervised) == row.supervised_tokens
    assert any("answer שלום" in span.text for span in supervised)
    assert not any("question" in span.text for span in supervised)
    assert row.document()["spans"][0]["text"] == row.spans[0].text


@pytest.mark.parametrize("row", [-1, 10, 10**9])
def test_a_row_that_is_not_there_is_wrong_usage(path: Path, row: int) -> None:
    with pytest.raises(UsageError):
        decoded_row(path, row)


def test_another_tokenizer_than_the_rows_were_made_with_is_refused(path: Path) -> None:
    text = manifest_path(path).read_text(encoding="utf-8")
    manifest_path(path).write_text(text.replace("8dde380a", "00000000"), encoding="utf-8")
    with pytest.raises(ProblemsError) as caught:
        decoded_row(path, 0)
    assert caught.value.problems[0].rule == "tokenizer-pinned"
    assert decoded_row(path, 0, tokenizer=EMBEDDED).row == 0


def test_a_manifest_that_cannot_be_read_is_told_of_in_words(tmp_path: Path) -> None:
    manifest_path(tmp_path / "rows.parquet").mkdir()
    with pytest.raises(UsageError) as caught:
        read_manifest(tmp_path / "rows.parquet")
    assert [problem.what for problem in caught.value.problems] == ["cannot be read: Is a directory"]


@pytest.mark.parametrize("name", ["text.parquet", "none.parquet"])
def test_a_file_that_holds_no_rows_is_told_of_before_its_manifest(tmp_path: Path, name: str) -> None:
    (tmp_path / "text.parquet").write_text("no rows\n")
    with pytest.raises(ProblemsError) as caught:
        decoded_row(tmp_path / name, 0)
    assert "manifest" not in str(caught.value)
    assert {problem.place.file for problem in caught.value.problems} == {str(tmp_path / name)}
