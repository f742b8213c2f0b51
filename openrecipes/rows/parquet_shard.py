"""A parquet file of conversations, found by row."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from openrecipes.problems import Place, Problem, ProblemsError, unreadable

_COLUMNS = ("messages", "tools", "source", "id")
_BATCH = 1024


class ParquetShard:
    """One conversation a row, in the column `messages`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with pq.ParquetFile(path) as file:
                self._metadata = file.metadata
                self._columns = [name for name in _COLUMNS if name in file.schema_arrow.names]
                self._check(file.schema_arrow)
        except pa.ArrowException as error:
            raise _damaged(path, error) from error
        except OSError as error:
            raise unreadable(str(path), f"cannot be read: {error.strerror or error}") from error

    def _check(self, schema: pa.Schema) -> None:
        if "messages" not in schema.names:
            what = f"has no column messages, but {', '.join(schema.names) or 'none at all'}"
        elif not pa.types.is_list(kind := schema.field("messages").type) and not pa.types.is_large_list(kind):
            what = f"its column messages holds {kind}, not lists of role and content"
        else:
            return
        mend = "name a source whose column messages holds lists of {role, content}"
        raise ProblemsError(
            Problem(place=Place(file=str(self.path), key="messages"), rule="source-columns", what=what, mend=mend)
        )

    def __len__(self) -> int:
        return int(self._metadata.num_rows)

    def fetch(self, indices: NDArray[np.int64]) -> Iterator[tuple[int, bytes]]:
        """(index, record as JSON) for each of the rising indices; row groups without one are not read."""
        try:
            with pq.ParquetFile(self.path) as file:
                start = 0
                for group in range(self._metadata.num_row_groups):
                    stop = start + self._metadata.row_group(group).num_rows
                    first, last = np.searchsorted(indices, (start, stop))
                    if first < last:
                        yield from self._group(file, group, indices[first:last] - start, start)
                    start = stop
        except pa.ArrowException as error:
            raise _damaged(self.path, error) from error
        except OSError as error:
            raise _damaged(self.path, error) from error

    def _group(
        self, file: pq.ParquetFile, group: int, indices: NDArray[np.int64], start: int
    ) -> Iterator[tuple[int, bytes]]:
        seen = 0
        for batch in file.iter_batches(batch_size=_BATCH, row_groups=[group], columns=self._columns):
            first, last = np.searchsorted(indices, (seen, seen + batch.num_rows))
            wanted = batch.take(pa.array(indices[first:last] - seen)).to_pylist() if first < last else []
            for index, record in zip(indices[first:last].tolist(), wanted, strict=True):
                yield start + index, json.dumps(record, ensure_ascii=False, default=str).encode()
            seen += batch.num_rows

    def place(self, index: int) -> Place:
        """The row, from 0."""
        return Place(file=str(self.path), key=f"row {index}")

    def text_bytes(self) -> int:
        """Uncompressed bytes of the conversations."""
        groups = [self._metadata.row_group(index) for index in range(self._metadata.num_row_groups)]
        columns = [group.column(index) for group in groups for index in range(group.num_columns)]
        return sum(
            int(column.total_uncompressed_size) for column in columns if column.path_in_schema.startswith("messages")
        )


def _damaged(path: Path, error: Exception) -> ProblemsError:
    what = f"cannot be read as parquet, it is cut off or damaged: {str(error).splitlines()[0]}"
    mend = "download or copy it again"
    return ProblemsError(Problem(place=Place(file=str(path)), rule="source-readable", what=what, mend=mend))
