"""Conversations by number: files on disk, in a fixed order, of which any conversation can be fetched.

A source is one JSONL or parquet file, or a folder of parquet shards (else JSONL files). Fetching gives raw
records, which a worker turns into conversations: reading is cheap here and parsing is spread there.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from openrecipes.problems import Place, Problem, ProblemsError, unreadable
from openrecipes.rows.jsonl import JsonLines
from openrecipes.rows.parquet_shard import ParquetShard

_SHARD = re.compile(r"^(?P<stem>.+)-(?P<index>\d{5})-of-(?P<count>\d{5})(?P<rest>\..+)$")
_SUFFIXES = (".parquet", ".jsonl")


class SourcePart(Protocol):
    """One file of conversations."""

    path: Path

    def __len__(self) -> int:
        """Conversations in it."""

    def fetch(self, indices: NDArray[np.int64]) -> Iterator[tuple[int, bytes]]:
        """(index, record as JSON) for each of the rising indices."""

    def place(self, index: int) -> Place:
        """Where a conversation stands: the file, and its line or row."""

    def text_bytes(self) -> int:
        """About how many bytes of text it holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Conversations of several files, numbered through in the files' order."""

    name: str
    revision: str | None
    root: Path
    parts: tuple[SourcePart, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def text_bytes_each(self) -> float:
        """About how many bytes of text a conversation has."""
        return max(1.0, sum(part.text_bytes() for part in self.parts) / max(1, len(self)))

    def fetch(self, indices: NDArray[np.int64]) -> list[bytes]:
        """The records at these indices, in the order of `indices`, each as JSON.

        Every file is gone through once, front to back, whatever the order.
        """
        order = np.argsort(indices, kind="stable")
        rising = indices[order]
        records: list[bytes] = [b""] * len(indices)
        start = 0
        for part in self.parts:
            first, last = np.searchsorted(rising, (start, start + len(part)))
            for place, (_, record) in zip(order[first:last], part.fetch(rising[first:last] - start), strict=True):
                records[place] = record
            start += len(part)
        return records

    def place(self, index: int) -> Place:
        """Where a conversation stands: the file, and its line (JSONL, from 1) or row (parquet, from 0)."""
        for part in self.parts:
            if index < len(part):
                return part.place(index)
            index -= len(part)
        raise IndexError(index)

    def place_below(self, index: int) -> str:
        """The same in words, the file below the source: `train-00002-of-00006.parquet:row 17`."""
        place = self.place(index)
        relative = next(self.relative(part) for part in self.parts if str(part.path) == place.file)
        return f"{relative}:{place.key if place.line is None else f'line {place.line}'}"

    def relative(self, part: SourcePart) -> str:
        """A file's path below the source."""
        return part.path.name if part.path == self.root else part.path.relative_to(self.root).as_posix()


def open_source(path: Path, *, name: str | None = None, revision: str | None = None) -> Source:
    """The conversations of a file or folder.

    Raises: UsageError if it is missing or of no known kind; ProblemsError if a shard is missing, cut off or has
    no column `messages`.
    """
    files = _files(path)
    parts = tuple(ParquetShard(file) if file.suffix == ".parquet" else JsonLines(file) for file in files)
    source = Source(name=name or str(path), revision=revision, root=path, parts=parts)
    if not len(source):
        what, mend = "holds no conversation", "name a source with conversations"
        raise ProblemsError(Problem(place=Place(file=str(path)), rule="source-empty", what=what, mend=mend))
    return source


def sha256_of(path: Path) -> str:
    """sha256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(path: Path) -> tuple[Path, ...]:
    if path.is_dir():
        for suffix in _SUFFIXES:
            found = tuple(sorted(path.rglob(f"*{suffix}"), key=lambda file: file.relative_to(path).as_posix()))
            if found:
                _refuse_gaps(found)
                return found
        raise unreadable(str(path), "is a folder without .parquet or .jsonl files")
    if not path.exists():
        raise unreadable(str(path), "there is no such file or folder")
    if path.suffix not in _SUFFIXES:
        raise unreadable(str(path), f"is neither {' nor '.join(_SUFFIXES)}", "convert it, and name it so")
    return (path,)


def _refuse_gaps(files: Sequence[Path]) -> None:
    """Refuses a folder whose shards, numbered `-00001-of-00006`, are not all there."""
    missing: list[Problem] = []
    names: dict[tuple[Path, str, str, str], set[int]] = {}
    for file in files:
        match = _SHARD.match(file.name)
        if match:
            key = (file.parent, match["stem"], match["count"], match["rest"])
            names.setdefault(key, set()).add(int(match["index"]))
    for (folder, stem, count, rest), found in sorted(names.items()):
        gaps = [index for index in range(int(count)) if index not in found]
        for index in gaps[:20]:
            shard = folder / f"{stem}-{index:05}-of-{count}{rest}"
            what, mend = (
                "is missing from its set of shards",
                "download it; rows from a part of a dataset are other rows",
            )
            missing.append(Problem(place=Place(file=str(shard)), rule="source-shard", what=what, mend=mend))
    if missing:
        raise ProblemsError(*missing)
