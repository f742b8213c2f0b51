"""Plain text in aligned columns, and prose in lines of a terminal's width."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

from openrecipes.problems import printable

WIDTH: Final = 80
_NAME: Final = 0.6  # of the width, that a first column may take before its names are wrapped
_LEAST: Final = 8  # narrower, a column of pieces of words is no column any more


def columns(rows: Sequence[tuple[str, ...]], right: tuple[int, ...] = ()) -> tuple[str, ...]:
    """Lines of aligned columns, of a terminal's width; nothing is cut.

    Where it is too narrow, words go on below in their column; figures, in the columns `right`, stay in one piece and
    make the page wider. Cells hold what files say, so that control characters stand as escapes.
    """
    return tuple(line for block in _blocks(rows, right) for line in block)


def explained(rows: Sequence[tuple[str, ...]], reasons: Iterable[str], right: tuple[int, ...] = ()) -> Iterator[str]:
    """The same, under each row but the first, which is the head, its reason where there is one."""
    head, *blocks = _blocks(rows, right)
    yield from head
    for block, reason in zip(blocks, reasons, strict=True):
        yield from block
        if reason:
            yield hanging(reason, first="  ")


def _blocks(rows: Sequence[tuple[str, ...]], right: tuple[int, ...]) -> tuple[tuple[str, ...], ...]:
    """The lines of each row."""
    rows = [tuple(map(printable, row)) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    words = [column for column in range(len(widths)) if column not in right]
    gaps = len(widths) - 1
    gap = 1 if not words and sum(widths) + 2 * gaps > WIDTH else 2
    _narrow(widths, rows, words, WIDTH - gap * gaps)
    return tuple(_block(row, widths, right, " " * gap) for row in rows)


def _narrow(widths: list[int], rows: Sequence[tuple[str, ...]], words: Sequence[int], room: int) -> None:
    """Makes columns of words narrower until they fit, the widest first.

    Names in the first column are kept in one line, and words whole, as far as that leaves room for the others.
    """
    longest = {column: max(map(len, " ".join(row[column] for row in rows).split()), default=0) for column in words}
    named = longest | ({0: widths[0]} if 0 in longest and widths[0] <= WIDTH * _NAME else {})
    for least in (named, longest, dict.fromkeys(words, _LEAST)):
        while sum(widths) > room and (wide := [column for column in words if widths[column] > least[column]]):
            column = max(wide, key=lambda column: widths[column])
            widths[column] -= 1


def _block(row: tuple[str, ...], widths: Sequence[int], right: tuple[int, ...], gap: str) -> tuple[str, ...]:
    cells = [[cell] if column in right else _wrapped(cell, widths[column]) for column, cell in enumerate(row)]
    lines = []
    for pieces in zip_longest(*cells, fillvalue=""):
        placed = (
            piece.rjust(width) if column in right else piece.ljust(width)
            for column, (piece, width) in enumerate(zip(pieces, widths, strict=True))
        )
        lines.append(gap.join(placed).rstrip())
    return tuple(lines)


def _wrapped(cell: str, width: int) -> list[str]:
    return [cell] if len(cell) <= width else textwrap.wrap(cell, width, break_on_hyphens=False) or [""]


def hanging(text: str, *, first: str = "", rest: str = "  ") -> str:
    """The text in lines of a terminal's width, the first after `first`, the others after `rest`; words stay whole
    where a line holds them.
    """
    lines = textwrap.wrap(printable(text), WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return "\n".join(lines) or first.rstrip()


def beside(rows: Sequence[tuple[str, str]], *, left: int) -> Iterator[str]:
    """Lines of two columns, the first `left` wide; the second is wrapped, a first cell too long has its own line."""
    for first, second in rows:
        wrapped = textwrap.wrap(second, WIDTH - left - 2, break_long_words=False, break_on_hyphens=False) or [""]
        if len(first) > left:
            yield first
            first = ""  # noqa: PLW2901
        yield f"{first:{left}}  {wrapped[0]}".rstrip()
        yield from (" " * (left + 2) + more for more in wrapped[1:])


def prose(text: str) -> str:
    """The text in lines of a terminal's width."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
