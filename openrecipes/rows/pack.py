"""Rows cut from the stream of conversations.

The stream is every conversation in order with one EOS between two of them (none before the first, none after
the last, never supervised). It is cut into consecutive rows of exactly `row_tokens`; nothing is padded. A row
without a target is left out and counted: no token but the first is supervised, and no one can predict the first.
"""

import numpy as np
from numpy.typing import NDArray

from openrecipes.rows.encode import Tokens


class Packer:
    """Takes conversations, gives at most `rows` rows; holds less than a row between two calls."""

    def __init__(self, *, rows: int, row_tokens: int, eos_id: int) -> None:
        self.rows_missing = rows
        self._row_tokens = row_tokens
        self._eos = np.array([eos_id], dtype="<i4")
        self._no_target = np.zeros(1, dtype=np.uint8)
        self._ids: list[NDArray[np.int32]] = []
        self._masks: list[NDArray[np.uint8]] = []
        self._held = 0
        self._is_first = True
        self.rows_without_targets = 0

    def add(self, tokens: Tokens) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """The rows that this conversation completes: ids and masks, each of shape (rows, row_tokens)."""
        if not self._is_first:
            self._ids.append(self._eos)
            self._masks.append(self._no_target)
            self._held += 1
        self._is_first = False
        self._ids.append(tokens.ids)
        self._masks.append(tokens.mask)
        self._held += len(tokens.ids)
        if self._held < self._row_tokens:
            return np.empty((0, self._row_tokens), "<i4"), np.empty((0, self._row_tokens), np.uint8)
        return self._cut()

    def _cut(self) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        ids, masks = np.concatenate(self._ids), np.concatenate(self._masks)
        cut = len(ids) - len(ids) % self._row_tokens
        self._ids, self._masks, self._held = [ids[cut:].copy()], [masks[cut:].copy()], len(ids) - cut
        rows, row_masks = ids[:cut].reshape(-1, self._row_tokens), masks[:cut].reshape(-1, self._row_tokens)
        kept = np.flatnonzero(row_masks[:, 1:].any(axis=1))[: self.rows_missing]
        self.rows_missing -= len(kept)
        seen = len(rows) if self.rows_missing else kept[-1] + 1  # what lies behind the last row is nobody's loss
        self.rows_without_targets += int(seen - len(kept))
        return rows[kept], row_masks[kept]
