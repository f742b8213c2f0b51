"""The pictures of a board and of a plan, each with its data as words and as a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from markupsafe import Markup

from openrecipes.plan.layout_plan import LayoutPlan, plan_recipe
from openrecipes.problems import ProblemsError
from openrecipes.recipe.model import Recipe
from openrecipes.site import chart
from openrecipes.site.ranking import Board, Row

MOST_BARS: Final = 10
_MOST_STAGES: Final = 16
_NOT_PLANNED: Final[dict[str, Any]] = {
    **dict.fromkeys(("author", "status", "result", "correctness", "run", "patches"), True),
    "layout": {"label", "summary", "highlights"},
}
_PARTS: Final = ("weights", "gradients", "optimizer", "activations")


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """An entry of a picture's key: its colour, by number, and its name."""

    colour: int
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """A chart, what it shows in a sentence, and its data as a table: header and rows."""

    title: str
    caption: str
    svg: Markup
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    keys: tuple[Key, ...] = ()
    more: str = ""  # what the table leaves out


def board_pictures(board: Board) -> tuple[Picture, ...]:
    """Throughput and price of a board's best, where there are two or more to compare."""
    best = board.rows[:MOST_BARS]
    priced = [row for row in best if row.usd_per_million_tokens is not None]
    which = "" if len(best) == len(board.rows) else f", the best {len(best)} of {len(board.rows):,}"
    found = []
    if len(best) > 1:
        rates = [(_name(row), row.tokens_per_s_per_gpu) for row in best]
        found.append(_bars("Tokens/s per GPU", f"Higher is better{which}.", rates, lambda value: f"{value:,.1f}"))
    if len(priced) > 1:
        prices = [(_name(row), row.usd_per_million_tokens or 0.0) for row in priced]
        found.append(_bars("$ / 1M tokens", f"Lower is better{which}.", prices, lambda value: f"${value:,.2f}"))
    return tuple(found)


def memory_picture(recipe: Recipe) -> Picture | None:
    """Planned memory by pipeline stage against the GPU's usable memory; None where `plan` has none."""
    layout = _planned(_ToPlan(key=recipe.model_dump_json(exclude=_NOT_PLANNED), recipe=recipe))
    if layout is None or not layout.stages or layout.usable_gib is None or len(layout.stages) > _MOST_STAGES:
        return None
    return _memory(layout, layout.usable_gib)


@dataclass(frozen=True, kw_only=True, slots=True)
class _ToPlan:
    """A recipe, equal to those that differ in nothing that a plan depends on."""

    key: str
    recipe: Recipe = field(compare=False)


@lru_cache(maxsize=4096)
def _planned(which: _ToPlan) -> LayoutPlan | None:
    """The plan of a layout; many recipes of a board share theirs."""
    try:
        return plan_recipe(which.recipe).layout
    except ProblemsError:
        return None


def _name(row: Row) -> str:
    label = row.layout if len(row.layout) <= 22 else f"{row.layout[:21]}…"
    return f"#{row.rank} {label}"


def _bars(title: str, caption: str, values: Sequence[tuple[str, float]], unit: Callable[[float], str]) -> Picture:
    return Picture(
        title=title,
        caption=caption,
        svg=chart.bars(values, title=title, unit=unit),
        header=("Layout", title),
        rows=tuple((name, unit(value)) for name, value in values),
    )


def _memory(layout: LayoutPlan, usable_gib: float) -> Picture:
    names = tuple(f"stage {stage.stage}" for stage in layout.stages)
    parts = [(part, tuple(round(getattr(stage, part), 1) for stage in layout.stages)) for part in _PARTS]
    parts.append(("overhead", (round(layout.overhead_gib, 1),) * len(names)))
    free = tuple(round(max(0.0, usable_gib - stage.peak - layout.overhead_gib), 1) for stage in layout.stages)
    parts.append(("free", free))
    verdict = "It fits" if layout.fits else "It does not fit"
    columns = [values for _, values in parts]
    return Picture(
        title="Memory by pipeline stage",
        caption=f"Planned GiB a GPU, of {usable_gib:.1f} usable. {verdict}.",
        svg=_memory_chart(names, tuple(parts)),
        header=("Stage", *(name for name, _ in parts)),
        rows=tuple((name, *(f"{column[n]:.1f}" for column in columns)) for n, name in enumerate(names)),
        keys=tuple(Key(colour=number, name=name) for number, (name, _) in enumerate(parts)),
    )


@lru_cache(maxsize=4096)
def _memory_chart(names: tuple[str, ...], parts: tuple[tuple[str, tuple[float, ...]], ...]) -> Markup:
    """Many recipes of a board share a layout, and so this picture."""
    return chart.stacks(names, parts, title="Memory by pipeline stage", unit=lambda value: f"{value:.0f}")
