"""The rows' file: its form, and what is said when it is not that."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from openrecipes.problems import ProblemsError, UsageError
from openrecipes.rows.parquet import ROWS_PER_GROUP, RowsWriter, read_rows


def write(path: Path, count: int, row_tokens: int = 16) -> list[tuple[np.ndarray, np.ndarray]]:
    made = [
        (np.arange(index, index + row_tokens, dtype="<i4"), (np.arange(row_tokens) % 3 == 0).astype(np.uint8))
        for index in range(count)
    ]
    with path.open("wb") as file, RowsWriter(file) as writer:
        for ids, mask in made:
            writer.add(ids, mask)
    return made


@pytest.mark.parametrize("count", [1, ROWS_PER_GROUP, ROWS_PER_GROUP + 1, 3 * ROWS_PER_GROUP])
def test_rows_come_back_in_order_from_any_row_on(tmp_path: Path, count: int) -> None:
    made = write(tmp_path / "rows.parquet", count)
    for first in {0, 1, count - 1, min(count, ROWS_PER_GROUP), count}:
        back = [(row.tokens, row.loss_mask) for row in read_rows(tmp_path / "rows.parquet", first=first)]
        assert back == [(ids.tobytes(), mask.tobytes()) for ids, mask in made[first:]]


def test_the_columns_are_those_that_slime_reads(tmp_path: Path) -> None:
    write(tmp_path / "rows.parquet", ROWS_PER_GROUP + 1)
    file = pq.ParquetFile(tmp_path / "rows.parquet")
    assert file.schema_arrow.names == ["messages", "metadata"]
    assert [field.name for field in file.schema_arrow.field("metadata").type] == ["tokens", "loss_mask"]
    assert file.num_row_groups == 2
    row = file.read().to_pylist()[0]
    assert isinstance(row["messages"], list)
    assert set(row["messages"][0]) == {"role", "content"}
    assert isinstance(row["metadata"]["tokens"], bytes)
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"


def test_a_file_cut_off_anywhere_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, 70)
    whole = path.read_bytes()
    for length in (0, 3, 4, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ProblemsError) as caught:
            list(read_rows(path))
        assert caught.value.problems[0].rule == "rows-readable"


def test_a_missing_file_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        list(read_rows(tmp_path / "none.parquet"))


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"messages": [[{"role": "user"}]]}),
        pa.table({"metadata": [{"tokens": b"", "loss_mask": b""}]}),
        pa.table({"messages": ["x"], "metadata": [{"tokens": [1, 2], "loss_mask": [0, 1]}]}),
        pa.table({"messages": ["x"], "metadata": ["{}"]}),
    ],
    ids=["no metadata", "no messages", "lists", "text"],
)
def test_a_parquet_file_of_another_form_is_refused(tmp_path: Path, table: pa.Table) -> None:
    pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(ProblemsError) as caught:
        list(read_rows(tmp_path / "rows.parquet"))
    assert caught.value.problems[0].rule == "rows-form"
