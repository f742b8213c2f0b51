"""A file of rows, counted and hashed again, and compared with its manifest."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openrecipes.problems import Place, Problem, ProblemsError, errors_in, in_order, unreadable
from openrecipes.rows.fingerprint import RowsHash
from openrecipes.rows.manifest import MANIFEST_MISSING, Manifest, manifest_path, read_manifest
from openrecipes.rows.parquet import StoredRow, read_rows
from openrecipes.rows.source import sha256_of

_MAX_ROW_PROBLEMS = 20
# `<|endoftext|>` of Qwen3.5, looked for where no manifest names another.
_PAD_ID = 248_044


@dataclass(frozen=True, kw_only=True, slots=True)
class Verified:
    """What a file of rows holds, and everything that is wrong with it."""

    rows: int
    row_tokens: int
    rows_sha256: str | None
    parquet_sha256: str
    parquet_bytes: int
    supervised_tokens: int
    padding_tokens: int
    manifest: Manifest | None
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; warnings may be there."""
        return not errors_in(self.problems)

    @property
    def exit_status(self) -> int:
        """0 where nothing is wrong, 2 where nothing but the manifest is missing, else 1."""
        wrong = {problem.rule for problem in errors_in(self.problems)}
        return 2 if wrong == {MANIFEST_MISSING} else int(bool(wrong))

    @property
    def supervised_token_ratio(self) -> float:
        """Supervised tokens divided by all tokens; 0 for a file without rows."""
        return self.supervised_tokens / (self.rows * self.row_tokens) if self.rows * self.row_tokens else 0.0

    def with_problems(self, more: Iterable[Problem]) -> "Verified":
        """The same file with more problems."""
        return replace(self, problems=in_order((*self.problems, *more)))

    def document(self) -> dict[str, Any]:
        """The verdict as plain data, for `--json`."""
        return {
            "ok": self.ok,
            "rows": self.rows,
            "row_tokens": self.row_tokens,
            "rows_sha256": self.rows_sha256,
            "parquet_sha256": self.parquet_sha256,
            "parquet_bytes": self.parquet_bytes,
            "supervised_token_ratio": self.supervised_token_ratio,
            "padding_tokens": self.padding_tokens,
            "problems": [problem.document() for problem in self.problems],
        }


def verify(path: Path) -> Verified:
    """What the file holds, compared with the manifest beside it.

    Raises: UsageError if there is no such file.
    """
    sha256, size = _bytes_of(path)
    manifest, problems = _manifest(path)
    counts = _Counts(path, manifest)
    try:
        for row in read_rows(path):
            counts.add(row)
    except ProblemsError as error:
        problems += error.problems
        counts.is_whole = False
    verified = Verified(
        rows=counts.rows,
        row_tokens=counts.row_tokens,
        rows_sha256=counts.sha256(),
        parquet_sha256=sha256,
        parquet_bytes=size,
        supervised_tokens=counts.supervised,
        padding_tokens=counts.padding,
        manifest=manifest,
        problems=(),
    )
    differing = _against_manifest(path, verified, manifest, is_whole=counts.is_whole) if manifest else ()
    return verified.with_problems((*problems, *counts.problems, *differing))


class _Counts:
    """Counts and hashes rows as they come."""

    def __init__(self, path: Path, manifest: Manifest | None) -> None:
        self._path = path
        self._vocabulary = manifest.tokenizer.vocabulary_size if manifest else None
        self._pad_id = manifest.tokenizer.pad_id if manifest else _PAD_ID
        self._hash: RowsHash | None = None
        self.rows = self.row_tokens = self.supervised = self.padding = 0
        self.problems: list[Problem] = []
        self.is_whole = True

    def add(self, row: StoredRow) -> None:
        index, self.rows = self.rows, self.rows + 1
        if row.tokens is None or row.loss_mask is None or len(row.tokens) != 4 * len(row.loss_mask):
            self._wrong(index, "its tokens are not 4 bytes for each byte of its mask")
            return
        ids, mask = np.frombuffer(row.tokens, "<i4"), np.frombuffer(row.loss_mask, np.uint8)
        if self._hash is None:
            self.row_tokens, self._hash = len(ids), RowsHash(len(ids))
        if len(ids) != self.row_tokens:
            self._wrong(index, f"has {len(ids):,} tokens where the first row has {self.row_tokens:,}")
            return
        for what in self._faults(ids, mask):
            self._wrong(index, what)
        self._hash.add(ids, mask)
        self.supervised += int(np.count_nonzero(mask))
        self.padding += self._padding(ids, mask)

    def _faults(self, ids: NDArray[np.int32], mask: NDArray[np.uint8]) -> Iterator[str]:
        if not len(ids):
            yield "has no token"
            return
        if ids.min() < 0 or (self._vocabulary is not None and ids.max() >= self._vocabulary):
            yield f"holds token ids {ids.min()} to {ids.max()}, outside the vocabulary of {self._vocabulary:,}"
        if mask.max() > 1:
            yield f"its mask holds {mask.max()}, where only 0 and 1 can be"
        if not mask[1:].any():
            yield "has no supervised token after its first: nothing can be learnt from it"

    def _padding(self, ids: NDArray[np.int32], mask: NDArray[np.uint8]) -> int:
        """Unsupervised pad tokens that end the row."""
        other = np.flatnonzero((ids != self._pad_id) | (mask != 0))
        return len(ids) - (int(other[-1]) + 1 if len(other) else 0)

    def _wrong(self, index: int, what: str) -> None:
        if len(self.problems) < _MAX_ROW_PROBLEMS:
            place, mend = Place(file=str(self._path), key=f"row {index}"), "build the rows again"
            self.problems.append(Problem(place=place, rule="row-form", what=what, mend=mend))

    def sha256(self) -> str | None:
        """The hash of the rows; None if there is none or one could not be read."""
        return self._hash.sha256() if self._hash is not None and self.is_whole and not self.problems else None


def _against_manifest(path: Path, found: Verified, manifest: Manifest, *, is_whole: bool) -> Iterator[Problem]:
    """Where file and manifest differ; of a file that could not be read through, only its bytes are compared."""
    pairs: list[tuple[str, object, object]] = [
        ("parquet_sha256", found.parquet_sha256, manifest.parquet_sha256),
        ("parquet_bytes", found.parquet_bytes, manifest.parquet_bytes),
    ]
    if is_whole:
        pairs += [
            ("rows", found.rows, manifest.rows),
            ("row_tokens", found.row_tokens, manifest.row_tokens),
            ("supervised_tokens", found.supervised_tokens, manifest.supervised_tokens),
            ("padding_tokens", found.padding_tokens, manifest.padding_tokens),
        ]
    if found.rows_sha256 is not None:
        pairs.append(("rows_sha256", found.rows_sha256, manifest.rows_sha256))
    for key, here, said in pairs:
        if here != said:
            place = Place(file=str(manifest_path(path)), key=key)
            what, mend = (
                f"{said}, but the file has {here}",
                "copy both files again from where they were built, or build again",
            )
            yield Problem(place=place, rule="manifest-agrees", what=what, mend=mend)


def _manifest(path: Path) -> tuple[Manifest | None, tuple[Problem, ...]]:
    try:
        return read_manifest(path), ()
    except ProblemsError as error:
        return None, error.problems


def _bytes_of(path: Path) -> tuple[str, int]:
    try:
        return sha256_of(path), path.stat().st_size
    except OSError as error:
        raise unreadable(
            str(path), f"cannot be read: {error.strerror}", "build it with `openrecipes data build`"
        ) from error
