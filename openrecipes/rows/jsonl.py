"""A JSONL file of conversations, found by line."""

import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openrecipes.problems import Place, unreadable

_BLOCK = 2**26


class JsonLines:
    """One conversation a line; lines without anything but blanks are none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._starts, self._ends, self._lines = _bounds(path)
        except OSError as error:
            raise unreadable(str(path), f"cannot be read: {error.strerror}") from error

    def __len__(self) -> int:
        return len(self._starts)

    def fetch(self, indices: NDArray[np.int64]) -> Iterator[tuple[int, bytes]]:
        """(index, line) for each of the indices."""
        with self.path.open("rb") as file:
            for index in indices.tolist():
                file.seek(self._starts[index])
                yield index, file.read(self._ends[index] - self._starts[index])

    def place(self, index: int) -> Place:
        """The line, from 1."""
        return Place(file=str(self.path), line=int(self._lines[index]))

    def text_bytes(self) -> int:
        """Bytes of all lines."""
        return int((self._ends - self._starts).sum())


def _bounds(path: Path) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Start, end and number (from 1) of every line that holds something."""
    size = path.stat().st_size
    if size == 0:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing, nothing
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        breaks = [
            np.flatnonzero(np.frombuffer(content[at : at + _BLOCK], dtype=np.uint8) == 10) + at
            for at in range(0, size, _BLOCK)
        ]
        ends = np.concatenate([*breaks, [size]]).astype(np.int64)
        starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
        short = np.flatnonzero(ends - starts < 64)
        blank = [index for index in short.tolist() if not content[starts[index] : ends[index]].strip()]
    kept = np.setdiff1d(np.arange(len(starts)), np.array(blank, dtype=np.int64))
    return starts[kept], ends[kept], kept + 1
