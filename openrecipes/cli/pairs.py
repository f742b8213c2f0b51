"""Names and values, a line each."""

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from openrecipes.problems import printable


def pairs(lines: Iterable[tuple[str, str]]) -> Table:
    """Names and values as two columns; a value may have several lines.

    What is wider than the page goes on below: a path is never cut short.
    """
    table = Table.grid(padding=(0, 2))
    for name, value in lines:
        shown = "\n".join(map(printable, value.split("\n")))
        table.add_row(Text(name, style="bold"), Text(shown, overflow="fold"))
    return table
