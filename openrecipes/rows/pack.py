"""Rows cut from the stream of conversations.

The stream is every conversation in order with one EOS between two of them (none before the first, none after
the last, never supervised). It is cut into consecutive rows of exactly `row_tokens`; nothing is padded. A row
without a target is left out and counted: no token but the first is supervised, and no one can predict the first.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Rows = tuple[NDArray[np.int32], NDArray[np.uint8]]


class Packer:
    """Takes conversations, gives at most `rows` rows; holds less than a row between two calls."""

    def __init__(self, *, rows: int, row_tokens: int) -> None:
        self.rows_missing = rows
        self.rows_without_targets = 0
        self._row_tokens = row_tokens
        self._ids: NDArray[np.int32] = np.empty(0, "<i4")
        self._mask: NDArray[np.uint8] = np.empty(0, np.uint8)
        self._is_first = True
        self._used = 0

    def add(self, ids: bytes, mask: bytes) -> Rows:
        """The rows that these conversations, each behind an EOS, complete: arrays of shape (rows, row_tokens).

        `ids` are int32 little endian, `mask` is one byte a token.
        """
        held = len(self._ids)
        all_ids = np.concatenate([self._ids, np.frombuffer(ids, "<i4")])
        all_masks = np.concatenate([self._mask, np.frombuffer(mask, np.uint8)])
        dropped = 0
        if self._is_first and len(all_ids):
            # The EOS before the very first conversation separates it from nothing.
            all_ids, all_masks, dropped, self._is_first = all_ids[1:], all_masks[1:], 1, False
        cut = len(all_ids) - len(all_ids) % self._row_tokens
        rows = all_ids[:cut].reshape(-1, self._row_tokens)
        masks = all_masks[:cut].reshape(-1, self._row_tokens)
        self._ids, self._mask = all_ids[cut:].copy(), all_masks[cut:].copy()
        kept = np.flatnonzero(masks[:, 1:].any(axis=1))[: self.rows_missing]
        self.rows_missing -= len(kept)
        seen = len(rows) if self.rows_missing else int(kept[-1]) + 1  # what lies behind the last row is nobody's loss
        self.rows_without_targets += seen - len(kept)
        self._used = seen * self._row_tokens - held + dropped
        return rows[kept], masks[kept]

    def conversations_used(self, lengths: Sequence[int]) -> int:
        """How many records of the batch just added were needed: all of them, until the last row is complete.

        `lengths` are the conversations' tokens, -1 for a record that gave none.
        """
        if self.rows_missing:
            return len(lengths)
        ends = np.cumsum(np.asarray(lengths) + 1)
        return int(np.searchsorted(ends, self._used)) + 1
