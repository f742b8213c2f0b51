"""The pictures of a run: step times, loss, where its GPU-hours went. All from its published steps, or not at all."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from openrecipes import units
from openrecipes.site import chart
from openrecipes.site.pictures import Key, Picture
from openrecipes.site.step_series import StepSeries

_SHADE: Final = 9  # the style sheet's colour of a shaded window
_MOST_POINTS: Final = 600
_MOST_ROWS: Final = 200


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
        svg=chart.lines([("step time", outline(drawn))], title="Step times", unit=_fine(drawn), window=window),
        header=("Step", "Step time", "Scored"),
        rows=tuple(
            (str(number), units.seconds(time), "yes" if window[0] <= number <= window[1] else "no")
            for number, time in timed[:_MOST_ROWS]
        ),
        more=_more(len(timed)),
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
        svg=chart.lines(
            [(name, outline(curve)) for name, curve in curves], title="Loss", unit=_fine(points, ""), window=None
        ),
        header=("Step", "Loss", "Reference") if other else ("Step", "Loss"),
        rows=tuple(
            (str(step), _number(own.get(step)), *((_number(other.get(step)),) if other else ()))
            for step in steps[:_MOST_ROWS]
        ),
        more=_more(len(steps)),
        keys=keys,
    )


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


def outline(points: Sequence[tuple[float, float]], most: int = _MOST_POINTS) -> list[tuple[float, float]]:
    """The points themselves, or of many the lowest and the highest of each stretch: a spike stays a spike."""
    if len(points) <= most:
        return list(points)
    stretches = most // 2
    edges = [place * len(points) // stretches for place in range(stretches + 1)]
    return list(_extremes(points[start:end] for start, end in pairwise(edges)))


def _extremes(stretches: Iterable[Sequence[tuple[float, float]]]) -> Iterator[tuple[float, float]]:
    for stretch in stretches:
        low, high = min(stretch, key=lambda point: point[1]), max(stretch, key=lambda point: point[1])
        yield from sorted({low, high})


def _more(count: int) -> str:
    return f"The first {_MOST_ROWS:,} of {count:,} steps; the JSON has all." if count > _MOST_ROWS else ""


def _fine(points: Sequence[tuple[float, float]], unit: str = " s") -> Callable[[float], str]:
    """Prints values of an axis with as many digits as tell its marks apart."""
    values = [y for _, y in points]
    span = max(values) - min(values)
    digits = 0 if span > 20 else 1 if span > 2 else 2 if span > 0.2 else 3
    return lambda value: f"{value:,.{digits}f}{unit}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.6g}"
