"""How far a stack lies from the recipe's, for people."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from openrecipes.compare.drift import FieldDrift
from openrecipes.problems import printable


def drift_page(fields: Sequence[FieldDrift], recipe: str) -> RenderableType:
    """A line a field: its status, what the recipe states, what was found, and why."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("field", "", "stated", "found"):
        table.add_column(Text(name), overflow="fold")
    for one in fields:
        found = f"{one.found or '-'} ({one.why})" if one.why and one.status != "unknown" else one.found or "-"
        table.add_row(one.field, one.status, Text(printable(one.stated or "-")), Text(printable(found)))
    return Group(Text(f"against {printable(recipe)}: {drift_line(fields)}"), Text(), table)


def drift_line(fields: Sequence[FieldDrift]) -> str:
    """`5 same, 1 tolerated, 1 different (nccl: release 2.28.9 and 2.27.7)`."""
    counts = Counter(one.status for one in fields)
    words = [f"{counts[status]} {status}" for status in ("same", "tolerated", "different", "unknown") if counts[status]]
    differ = "; ".join(f"{one.field}: {one.why}" for one in fields if one.status == "different")
    return ", ".join(words) + (f" ({differ})" if differ else "")
