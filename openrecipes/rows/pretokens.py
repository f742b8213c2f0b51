r"""Text cut where every Qwen3.5-style tokenizer must cut too, so that repeated words are encoded once.

The pre-tokenizer of Qwen3.5 never lets one token span a cut made here, and what it does on one side of
a cut does not depend on the other side:

- before whitespace (other than a line break) that follows non-whitespace: no alternative of the
  pattern goes on from non-whitespace into such whitespace;
- after the last line break of a run of whitespace: `\s*[\r\n]+` ends there, and so do the line breaks
  that punctuation takes along;
- before the last character of a run of such whitespace when text follows: `\s+(?!\S)` leaves that one.

Unicode normalisation (NFC) does not reach across a cut either: whitespace neither composes nor is reordered.
"""

import re
import sys
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

# Unicode's White_Space, as the tokenizers' \s. Python's own \s takes U+001C to U+001F too.
_BREAK = "\\r\\n"
_BLANK = "\\t\\x0b\\x0c \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
_SPACE = _BREAK + _BLANK

# Possessive throughout: a run of blanks or letters never has to be given back.
_TO_LAST_BREAK = f"(?:[{_BLANK}]*+[{_BREAK}]++)"
_PRETOKENS = re.compile(
    f"[{_BLANK}]?+[^{_SPACE}]++{_TO_LAST_BREAK}*+|{_TO_LAST_BREAK}++|[{_BLANK}]+(?=[{_BLANK}][^{_SPACE}])|[{_SPACE}]++"
)
# Whitespace up to its last line break: no cut is allowed inside, nor before it when a line break precedes.
BREAK_RUN = re.compile(f"{_TO_LAST_BREAK}++")

# What pattern and normalizer a tokenizer must have for these cuts to be right.
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

MAX_KEPT_CHARACTERS = 40
_MAX_KEPT_PRETOKENS = 400_000


def pretokens(text: str) -> list[str]:
    """The text in pieces that are encoded independently of each other; joined they are the text."""
    return _PRETOKENS.findall(text)


def stored_ids(ids: Iterable[int]) -> bytes:
    """Token ids as int32 little endian."""
    stored = array("i", ids)
    assert stored.itemsize == 4, "a C int has 32 bits wherever Python runs"
    if sys.byteorder == "big":
        stored.byteswap()
    return stored.tobytes()


class PretokenCache:
    """Stored ids of pieces already seen; at most some 100 MB."""

    def __init__(self, encode_many: Callable[[list[str]], list[bytes]], known: Mapping[str, bytes]) -> None:
        self._encode_many = encode_many
        self._known = _Known(known)

    def __contains__(self, piece: str) -> bool:
        return piece in self._known

    def know(self, pieces: Mapping[str, bytes]) -> None:
        """Add pieces with their stored ids."""
        self._known.update(pieces)

    def encoded(self, pieces: Sequence[str]) -> tuple[list[bytes], NDArray[np.int64]]:
        """Stored ids of each piece, and how many each has: shape (pieces,)."""
        stored = list(map(self._known.__getitem__, pieces))
        counts = np.fromiter(map(len, stored), dtype=np.int64, count=len(stored)) >> 2
        holes = np.flatnonzero(counts == 0).tolist()
        if holes:
            missing = list(dict.fromkeys(pieces[hole] for hole in holes))
            learnt = dict(zip(missing, self._encode_many(missing), strict=True))
            if len(self._known) < _MAX_KEPT_PRETOKENS:
                self._known.update({piece: ids for piece, ids in learnt.items() if len(piece) <= MAX_KEPT_CHARACTERS})
            for hole in holes:
                stored[hole] = learnt[pieces[hole]]
                counts[hole] = len(stored[hole]) >> 2
        return stored, counts


class _Known(dict[str, bytes]):
    """Nothing for a piece not known, which every known one differs from: a piece has a token at least."""

    def __missing__(self, piece: str) -> bytes:
        return b""
