"""A row decoded, in spans of equal supervision."""

from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from openrecipes.problems import Place, Problem, ProblemsError, UsageError
from openrecipes.rows.manifest import read_manifest
from openrecipes.rows.parquet import read_rows
from openrecipes.rows.tokenizer import Tokenizer, read_tokenizer


@dataclass(frozen=True, kw_only=True, slots=True)
class DecodedSpan:
    """Consecutive tokens, first and last both counted, that are all supervised or all not."""

    first: int
    last: int
    supervised: bool
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DecodedRow:
    """A row for people."""

    row: int
    row_tokens: int
    supervised_tokens: int
    spans: tuple[DecodedSpan, ...]

    def document(self) -> dict[str, Any]:
        """The row as plain data, for `--json`."""
        return asdict(self)


def decoded_row(path: Path, row: int, *, tokenizer: str | None = None) -> DecodedRow:
    """Row number `row`, from 0, decoded with the tokenizer named, or with the one that the manifest names.

    Raises: UsageError if there is no such file, manifest, tokenizer or row; ProblemsError if the tokenizer is not
    the one that made the rows.
    """
    stored = next(read_rows(path, first=row), None) if row >= 0 else None
    coder = read_tokenizer(tokenizer) if tokenizer is not None else _tokenizer(path)
    if stored is None or stored.tokens is None or stored.loss_mask is None:
        what, mend = f"has no row {row}", "count rows from 0; `openrecipes data verify` says how many there are"
        raise UsageError(Problem(place=Place(file=str(path)), rule="row-there", what=what, mend=mend))
    ids, mask = np.frombuffer(stored.tokens, "<i4"), np.frombuffer(stored.loss_mask, np.uint8)
    edges = [0, *(np.flatnonzero(np.diff(mask)) + 1).tolist(), len(ids)]
    spans = tuple(
        DecodedSpan(first=start, last=end - 1, supervised=bool(mask[start]), text=coder.decode(ids[start:end].tolist()))
        for start, end in pairwise(edges)
    )
    return DecodedRow(row=row, row_tokens=len(ids), supervised_tokens=int(np.count_nonzero(mask)), spans=spans)


def _tokenizer(path: Path) -> Tokenizer:
    """The tokenizer that the manifest names, found to be the same file."""
    used = read_manifest(path).tokenizer
    tokenizer = read_tokenizer(used.name)
    if tokenizer.sha256 != used.sha256:
        what = (
            f"the rows were made with a tokenizer of sha256 {used.sha256}, and {used.name} now has {tokenizer.sha256}"
        )
        mend = "name the tokenizer that made them with --tokenizer"
        raise ProblemsError(Problem(place=Place(file=str(path)), rule="tokenizer-pinned", what=what, mend=mend))
    return tokenizer
