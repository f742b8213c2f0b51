"""The rows' parquet file, in the form that slime reads with `--input-key messages --metadata-key metadata`.

`messages` is a stub conversation, since slime wants a list there; `metadata` is a struct of `tokens` (int32
little endian) and `loss_mask` (one byte a token, 0 or 1), both as bytes: lists would cost slime seconds of
copying inside each measured step. There is no `tools` column. Readable with pyarrow 21 and numpy 1 as with today's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from openrecipes.problems import Place, Problem, ProblemsError, UsageError

ROWS_PER_GROUP = 64
_STUB = [{"role": "user", "content": "pre-tokenized"}]

SCHEMA = pa.schema(
    [
        pa.field("messages", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
        pa.field("metadata", pa.struct([("tokens", pa.binary()), ("loss_mask", pa.binary())])),
    ]
)


class RowsWriter:
    """Writes rows to an open file, some at a time."""

    def __init__(self, file: IO[bytes]) -> None:
        self._writer = pq.ParquetWriter(
            file, SCHEMA, version="2.6", compression="zstd", compression_level=5, use_dictionary=False,
            write_statistics=False, data_page_version="1.0", store_schema=True,
        )  # fmt: skip
        self._held: list[tuple[NDArray[np.int32], NDArray[np.uint8]]] = []

    def add(self, ids: NDArray[np.int32], mask: NDArray[np.uint8]) -> None:
        """Add one row."""
        self._held.append((ids, mask))
        if len(self._held) == ROWS_PER_GROUP:
            self._flush()

    def _flush(self) -> None:
        if not self._held:
            return
        tokens = pa.array([np.ascontiguousarray(ids, "<i4").tobytes() for ids, _ in self._held], pa.binary())
        masks = pa.array([mask.tobytes() for _, mask in self._held], pa.binary())
        metadata = pa.StructArray.from_arrays([tokens, masks], fields=list(SCHEMA.field("metadata").type))
        stubs = pa.array([_STUB] * len(self._held), SCHEMA.field("messages").type)
        self._writer.write_batch(pa.record_batch([stubs, metadata], schema=SCHEMA))
        self._held = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        self._writer.close()


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRow:
    """A row as it lies in the file: `tokens` and `loss_mask` bytes, or None where they are missing."""

    tokens: bytes | None
    loss_mask: bytes | None


def read_rows(path: Path, *, first: int = 0) -> Iterator[StoredRow]:
    """Rows of a file in order from row `first`, a row group at a time.

    Raises: ProblemsError if the file is no parquet of this form, cut off or damaged; UsageError if it is missing.
    """
    with _explained(path):
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if first >= rows:
                first -= rows
                continue
            _check_form(path, file.schema_arrow)
            column = file.read_row_group(group, columns=["metadata"]).column("metadata").combine_chunks()
            for value in column[first:]:
                pair = value.as_py() or {}
                yield StoredRow(tokens=pair.get("tokens"), loss_mask=pair.get("loss_mask"))
            first = 0


def _check_form(path: Path, schema: pa.Schema) -> None:
    """Refuses a file of which slime could not read the rows."""
    index = schema.get_field_index("metadata")
    kind = schema.field(index).type if index >= 0 else None
    names = {field.name: field.type for field in kind} if kind is not None and pa.types.is_struct(kind) else {}
    if "messages" not in schema.names or not all(
        pa.types.is_binary(names.get(name, pa.null())) for name in ("tokens", "loss_mask")
    ):
        what = (
            f"has the columns {', '.join(schema.names)}, not messages and metadata with tokens and loss_mask as bytes"
        )
        mend = "name a file that `openrecipes data build` wrote"
        raise ProblemsError(Problem(place=Place(file=str(path)), rule="rows-form", what=what, mend=mend))


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        what, mend = "there is no such file", "build it with `openrecipes data build`, or name another"
        raise UsageError(Problem(place=Place(file=str(path)), rule="file-readable", what=what, mend=mend)) from error
    except (pa.ArrowException, OSError) as error:
        what = f"cannot be read as parquet, it is cut off or damaged: {str(error).splitlines()[0]}"
        mend = "build the rows again, or copy the file again and compare its sha256"
        raise ProblemsError(Problem(place=Place(file=str(path)), rule="rows-readable", what=what, mend=mend)) from error
