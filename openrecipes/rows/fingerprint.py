"""The hash of rows, over their content alone: no file format, shard size or library version enters.

The form is `openrecipes-rows/1`, written down with an example in data/README.md: sha256 over the ASCII line
`openrecipes-rows/1 row_tokens=N` and a line feed, then row by row, in order, the N token ids as int32 little
endian and the N mask values as one byte each, 0 or 1. A row is hashed as cut, its first position's mask included.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

FORM = "openrecipes-rows/1"


class RowsHash:
    """Takes rows in order, gives their `rows_sha256`."""

    def __init__(self, row_tokens: int) -> None:
        self._row_tokens = row_tokens
        self._hash = hashlib.sha256(f"{FORM} row_tokens={row_tokens}\n".encode())

    def add(self, ids: NDArray[np.int32], mask: NDArray[np.uint8]) -> None:
        """Add one row: `ids` and `mask` of shape (row_tokens,)."""
        assert ids.shape == mask.shape == (self._row_tokens,), "a row has exactly row_tokens"
        self._hash.update(ids.astype("<i4").tobytes())
        self._hash.update(mask.tobytes())

    def sha256(self) -> str:
        """The hash of the rows so far, in hex."""
        return self._hash.hexdigest()
