"""Two loss curves and their difference as an SVG picture: standard library only, the same bytes for the same curves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import floor, isfinite, log10
from typing import Final
from xml.sax.saxutils import escape

from openrecipes import units
from openrecipes.correctness.convergence import Convergence

WIDTH: Final = 760
HEIGHT: Final = 520
CANDIDATE_COLOUR: Final = "#0072b2"
REFERENCE_COLOUR: Final = "#d55e00"
_INK: Final = "#333333"
_LEFT, _RIGHT = 84, 24
_DASHES: Final = ' stroke-dasharray="6 4"'
_MOST_DOTS: Final = 120
_MOST_POINTS: Final = 2000
_LARGEST: Final = 1e100
"""No loss of a model comes near it, and arithmetic on larger ones overflows."""

Values = Sequence[float | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """One plot: its place in the picture, and the values at its lower and upper edge."""

    top: float
    height: float
    low: float
    high: float
    last: int

    def x(self, index: int) -> float:
        """Where the point of this index stands."""
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (index / self.last if self.last else 0.5)

    def y(self, value: float) -> float:
        """Where this value stands."""
        return self.top + self.height * (1 - (value - self.low) / (self.high - self.low))


def svg(found: Convergence) -> str:
    """The picture's text. Points without a finite value are left out, and break the line."""
    candidate, reference, difference = series(found)
    steps = found.reference.steps
    last = max(len(steps) - 1, 0)
    upper = _panel(96, 232, (*candidate, *reference), last)
    lower = _panel(376, 92, (*difference, 0.0), last)
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" font-size="13" fill="{_INK}">',
        f"<title>{escape(title(found))}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(_LEFT, 26, title(found), size=16),
        _text(_LEFT, 48, subtitle(found)),
        *_legend(found),
        *_skipped(found, upper),
        *_axes(upper, "loss"),
        *_line(upper, candidate, CANDIDATE_COLOUR),
        *_line(upper, reference, REFERENCE_COLOUR, _DASHES),  # dashed and last: seen where the two lie together
        *_axes(lower, "difference, %"),
        f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{lower.y(0):.2f}" y2="{lower.y(0):.2f}" stroke="#999999"/>',
        *_line(lower, difference, _INK),
        *_step_labels(lower, steps),
        "</svg>\n",
    ]
    return "\n".join(body)


def series(found: Convergence) -> tuple[Values, Values, Values]:
    """Candidate, reference, and their relative difference in percent, by the reference's steps; None is no number."""
    ours, theirs = ([_or_none(value) for value in _losses(found, arm)] for arm in ("candidate", "reference"))
    apart = [
        None if a is None or b is None or b == 0 else _or_none(100 * (a - b) / abs(b))
        for a, b in zip(ours, theirs, strict=True)
    ]
    return ours, theirs, apart


def title(found: Convergence) -> str:
    """The verdict in one line."""
    return f"Convergence over {units.counted(len(found.reference.steps), 'step')}: {found.result}"


def subtitle(found: Convergence) -> str:
    """The figures in one line."""
    if found.chosen is None:
        return "not compared: " + "; ".join(problem.rule for problem in found.problems)
    figures = found.chosen
    return (
        f"{found.rule.name}: correlation {_or_word(units.correlation(figures.correlation), '.6g')}, "
        f"final loss difference {_or_word(figures.final_loss_difference, '.1e')}, "
        f"{figures.pointwise_failures} of {figures.points_scored} pointwise failures"
    )


def _or_word(value: float, form: str) -> str:
    return format(value, form) if isfinite(value) else "none"


def _losses(found: Convergence, arm: str) -> Values:
    points = (found.candidate if arm == "candidate" else found.reference).by_step()
    return [points[step].loss if step in points else None for step in found.reference.steps]


def _or_none(value: float | None) -> float | None:
    return value if value is not None and abs(value) < _LARGEST else None


def _panel(top: float, height: float, values: Values, last: int) -> Panel:
    finite = [value for value in values if value is not None] or [0.0]
    low, high = min(finite), max(finite)
    size = max(abs(low), abs(high))
    room = (high - low) * 0.06 if high - low > 1e-12 * size else size * 0.01
    room = room if room > 1 / _LARGEST else 1.0
    return Panel(top=top, height=height, low=low - room, high=high + room, last=last)


def _line(panel: Panel, values: Values, colour: str, dash: str = "") -> Iterator[str]:
    """The line through each unbroken run of values, and a dot a value where there are few."""
    shown = _thinned(values)
    for known, run in groupby(shown, key=lambda pair: pair[1] is not None):
        if known:
            points = " ".join(f"{panel.x(i):.2f},{panel.y(value):.2f}" for i, value in run if value is not None)
            yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
    for index, value in shown if len(values) <= _MOST_DOTS else ():
        if value is not None:
            yield f'<circle cx="{panel.x(index):.2f}" cy="{panel.y(value):.2f}" r="2.5" fill="{colour}"/>'


def _thinned(values: Values) -> list[tuple[int, float | None]]:
    """Index and value of at most so many points as the picture can show, the last one kept."""
    every = max(1, -(-len(values) // _MOST_POINTS))
    return [(index, value) for index, value in enumerate(values) if index % every == 0 or index == len(values) - 1]


def _axes(panel: Panel, name: str) -> Iterator[str]:
    bottom = panel.top + panel.height
    yield f'<path d="M{_LEFT} {panel.top} V{bottom} H{WIDTH - _RIGHT}" fill="none" stroke="{_INK}"/>'
    yield _text(_LEFT, panel.top - 8, name)
    for value in ticks(panel.low, panel.high):
        yield f'<path d="M{_LEFT - 5} {panel.y(value):.2f} h5" stroke="{_INK}"/>'
        yield _text(_LEFT - 9, panel.y(value) + 4, f"{value:.6g}", anchor="end", size=11)


def ticks(low: float, high: float, most: int = 6) -> tuple[float, ...]:
    """Round values within a range, at most `most` of them."""
    step = 10.0 ** floor(log10(high - low))
    step = next(step * part for part in (0.1, 0.2, 0.5, 1, 2, 5) if (high - low) / (step * part) <= most - 1)
    first = floor(low / step) + 1
    return tuple(float(f"{i * step:.12g}") for i in range(first, first + most) if low <= i * step <= high)


def _step_labels(panel: Panel, steps: Sequence[int]) -> Iterator[str]:
    every = max(1, -(-len(steps) // 12))
    for index in range(0, len(steps), every):
        yield _text(panel.x(index), panel.top + panel.height + 18, str(steps[index]), anchor="middle", size=11)
    yield _text((_LEFT + WIDTH - _RIGHT) / 2, panel.top + panel.height + 38, "optimizer step", anchor="middle")


def _skipped(found: Convergence, panel: Panel) -> Iterator[str]:
    """The part that the rule leaves out, shaded."""
    if found.chosen is None or found.chosen.points_scored == len(found.reference.steps):
        return
    count = len(found.reference.steps) - found.chosen.points_scored
    edge = (panel.x(count - 1) + panel.x(count)) / 2
    yield f'<rect x="{_LEFT}" y="{panel.top}" width="{edge - _LEFT:.2f}" height="{panel.height}" fill="#eeeeee"/>'
    yield _text(_LEFT + 6, panel.top + 16, "not scored by the rule", size=11)


def _legend(found: Convergence) -> Iterator[str]:
    arms = (
        (found.candidate.name, "candidate", CANDIDATE_COLOUR, ""),
        (found.reference.name, "reference", REFERENCE_COLOUR, _DASHES),
    )
    for index, (name, role, colour, dash) in enumerate(arms):
        x = _LEFT + 60 + index * 310
        yield f'<path d="M{x} 84 h22" stroke="{colour}" stroke-width="2"{dash}/>'
        yield _text(x + 28, 88, f"{role}: {name if len(name) <= 34 else '…' + name[-33:]}", size=12)


def _text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 13) -> str:
    return f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>'
