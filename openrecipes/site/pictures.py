"""The pictures of a recipe and of a board, each with the same data as words and as a table.

They show what recipes, their published steps and `plan` say; where one of these is not there, there is no picture.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from markupsafe import Markup

from openrecipes import units
from openrecipes.plan.layout_plan import LayoutPlan, plan_recipe
from openrecipes.problems import ProblemsError
from openrecipes.recipe.model import Recipe
from openrecipes.site import chart
from openrecipes.site.ranking import Board, Row
from openrecipes.site.step_series import StepSeries

MOST_BARS: Final = 10
_MOST_STAGES: Final = 16
_NOT_PLANNED: Final[dict[str, Any]] = {
    **dict.fromkeys(("author", "status", "result", "correctness", "run", "patches"), True),
    "layout": {"label", "summary", "highlights"},
}
_SHADE: Final = 9  # the style sheet's colour of a shaded window
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


def step_picture(series: StepSeries | None, window: tuple[int, int]) -> Picture | None:
    """Step times of the scored run, the window shaded. Steps before it that dwarf it are left to the table."""
    if series is None:
        return None
    timed = [(step.step, step.step_time_s) for step in series.steps if step.step_time_s is not None]
    highest = 2 * max((time for number, time in timed if window[0] <= number <= window[1]), default=0.0)
    drawn = [(float(number), time) for number, time in timed if time <= highest or number >= window[0]]
    if len(drawn) < 2:
        return None
    left_out = [number for number, time in timed if time > highest and number < window[0]]
    note = f" Not drawn, since far longer: step {', '.join(map(str, left_out))}." if left_out else ""
    return Picture(
        title="Step times",
        caption=f"Seconds a step; the scored window, steps {window[0]} to {window[1]}, is shaded.{note}",
        svg=chart.lines([("step time", drawn)], title="Step times", unit=_fine(drawn), window=window),
        header=("Step", "Step time", "Scored"),
        rows=tuple(
            (str(number), units.seconds(time), "yes" if window[0] <= number <= window[1] else "no")
            for number, time in timed
        ),
        keys=(Key(colour=1, name="step time"), Key(colour=_SHADE, name="scored window")),
    )


def loss_picture(series: StepSeries | None) -> Picture | None:
    """The loss of the scored run, and of its reference run where one was published."""
    if series is None:
        return None
    own = {step.step: step.loss for step in series.steps if step.loss is not None}
    other = {step.step: step.loss for step in series.reference_steps or () if step.loss is not None}
    if len(own) < 2:
        return None
    curves = [("this run", [(float(step), loss) for step, loss in own.items()])]
    keys: tuple[Key, ...] = ()
    if other:
        curves.append(("reference", [(float(step), loss) for step, loss in other.items()]))
        keys = (Key(colour=1, name="this run"), Key(colour=2, name="reference run"))
    points = [point for _, curve in curves for point in curve]
    steps = sorted({*own, *other})
    return Picture(
        title="Loss",
        caption="Training loss a step, against the reference run." if other else "Training loss a step.",
        svg=chart.lines(curves, title="Loss", unit=_fine(points, ""), window=None),
        header=("Step", "Loss", "Reference") if other else ("Step", "Loss"),
        rows=tuple(
            (str(step), _number(own.get(step)), *((_number(other.get(step)),) if other else ())) for step in steps
        ),
        keys=keys,
    )


def memory_picture(recipe: Recipe) -> Picture | None:
    """Planned memory by pipeline stage against the GPU's usable memory; None where `plan` has none."""
    layout = _planned(_ToPlan(key=recipe.model_dump_json(exclude=_NOT_PLANNED), recipe=recipe))
    if layout is None or not layout.stages or layout.usable_gib is None or len(layout.stages) > _MOST_STAGES:
        return None
    return _memory(layout, layout.usable_gib)


def ledger_picture(series: StepSeries | None) -> Picture | None:
    """Where the job's GPU-hours went, phase by phase; None where the job's record was not published."""
    if series is None or not series.ledger:
        return None
    phases = [(", ".join(phase.names).replace("_", " "), phase) for phase in series.ledger if phase.gpu_hours > 0]
    if not phases:
        return None
    parts = [(name, [phase.gpu_hours]) for name, phase in phases]
    return Picture(
        title="Where the GPU-hours went",
        caption="GPU-hours of the job, from its start to its end.",
        svg=chart.stacks(["job"], parts, title="Where the GPU-hours went", unit=lambda value: f"{value:,.2f}"),
        header=("Phase", "Time", "GPU-hours"),
        rows=tuple((name, units.seconds(phase.seconds), f"{phase.gpu_hours:,.3f}") for name, phase in phases),
        keys=tuple(Key(colour=number, name=name) for number, (name, _) in enumerate(phases)),
    )


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


def _fine(points: Sequence[tuple[float, float]], unit: str = " s") -> Callable[[float], str]:
    """Prints values of an axis with as many digits as tell its marks apart."""
    values = [y for _, y in points]
    span = max(values) - min(values)
    digits = 0 if span > 20 else 1 if span > 2 else 2 if span > 0.2 else 3
    return lambda value: f"{value:,.{digits}f}{unit}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.6g}"
