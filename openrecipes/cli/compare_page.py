"""A comparison for people: the verdict, the two figures, and what could explain that they differ."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from openrecipes import units
from openrecipes.compare.causes import Difference
from openrecipes.compare.comparison import Comparison
from openrecipes.compare.side import Side
from openrecipes.problems import printable

_LONGEST = 60
_SHOWN = 40


def compare_page(found: Comparison, *, verdict_last: bool = False) -> RenderableType:
    """The comparison in at most 80 columns, unless values are longer."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    lines = list(_lines(found))
    for name, text in (*lines[1:], lines[0]) if verdict_last else lines:
        table.add_row(Text(name), Text(printable(text)))
    causes = list(_causes(found))
    return Group(*causes, *([Text()] if causes else []), table) if verdict_last else Group(table, Text(), *causes)


def _causes(found: Comparison) -> Iterator[RenderableType]:
    certain = [one for one in found.differences if one.status != "unknown"]
    if certain:
        yield _differences(certain[:_SHOWN])
    if len(certain) > _SHOWN:
        yield Text(f"and {len(certain) - _SHOWN} more; --json has all", style="dim")
    unknown = [one.name for one in found.differences if one.status == "unknown"]
    if unknown:
        yield Text(printable(f"known of one side only: {', '.join(unknown)}"), style="dim")


def verdict_line(found: Comparison) -> str:
    """`faster: 1.062 times the tokens/s/GPU of attune-tp1 (95 % interval 1.051 to 1.074)`."""
    base, _ = _names(found)
    if found.ratio is None or found.interval is None:
        return f"not comparable with {base}: {'; '.join(found.why_not)}"
    low, high = found.interval
    return (
        f"{found.verdict}: {found.ratio:.4f} times the tokens/s/GPU of {base} (95 % interval {low:.4f} to {high:.4f})"
    )


def _names(found: Comparison) -> tuple[str, str]:
    """Both names, as short as they can be told apart."""
    base, candidate = found.base.name, found.candidate.name
    short = base.rpartition("/")[2], candidate.rpartition("/")[2]
    return short if short[0] != short[1] else (base, candidate)


def _lines(found: Comparison) -> Iterator[tuple[str, str]]:
    base, candidate = _names(found)
    yield "verdict", verdict_line(found)
    yield "base", f"{base}: {_figure(found.base)}"
    yield "candidate", f"{candidate}: {_figure(found.candidate)}"
    change = found.step_time_change
    if change is not None and found.base.step_time_s and found.candidate.step_time_s:
        new, old = units.seconds(found.candidate.step_time_s), units.seconds(found.base.step_time_s)
        yield "step time", f"{new}, {units.change(100 * change, 2)} of {base}'s {old}"
    if found.unseen is not None:
        yield "resolution", f"a difference below {units.percent(found.unseen, 2)} could not have been told from none"
    for note in found.notes:
        yield "note", note


def _figure(side: Side) -> str:
    if side.rate is None:
        return "no figure"
    error = side.rate.relative_error
    spread = "" if error is None else f" ± {units.percent(error, 2)}"
    return f"{side.rate.tokens_per_s_per_gpu:,.2f} tokens/s/GPU{spread} (standard error by {side.rate.basis})"


def _differences(shown: Sequence[Difference]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("could explain it", no_wrap=True)
    for name in ("base", "candidate"):
        table.add_column(name, overflow="fold")
    kind = ""
    for one in shown:
        if one.kind != kind:
            kind = one.kind
            table.add_row(Text(kind, style="dim italic"))
        table.add_row(Text(f"  {printable(one.name)}"), _value(one.base), _value(one.candidate, one.status))
    return table


def _value(value: str | None, status: str = "different") -> Text:
    text = "-" if value is None else printable(" ".join(value.split()))
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return Text(text if status == "different" else f"{text} ({status})")
