"""Plain text in aligned columns, and prose in lines of a terminal's width."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from openrecipes.problems import printable

WIDTH: Final = 80


def columns(rows: Sequence[tuple[str, ...]], right: tuple[int, ...] = ()) -> tuple[str, ...]:
    """Lines of aligned columns, never cut: figures must survive a narrow terminal or a pipe.

    Cells hold what files say, so that control characters stand as escapes.
    """
    rows = [tuple(map(printable, row)) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = (
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    return tuple(lines)


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
