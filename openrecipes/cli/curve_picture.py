"""Two loss curves and their difference drawn in characters."""

from collections.abc import Iterator, Sequence
from typing import Final

from openrecipes.correctness.convergence import Convergence
from openrecipes.correctness.curve_drawing import Values, series

_WIDTH: Final = 64
_HEIGHT: Final = 11
_HEIGHT_OF_DIFFERENCE: Final = 5
_LABEL: Final = 9


def curve_picture(found: Convergence) -> str:
    """A picture of at most 80 columns, told apart without colour: `o` candidate, `x` reference, `*` both.

    More steps than columns are put together, each column showing its last step.
    """
    candidate, reference, difference = (_columns(values) for values in series(found))
    if not any(value is not None for value in (*candidate, *reference)):
        return "no loss to draw"
    lines = [
        "loss   o candidate   x reference   * both",
        *_grid({"x": reference, "o": candidate}, _HEIGHT, None),
        "difference in percent of the reference",
        *_grid({"o": difference}, _HEIGHT_OF_DIFFERENCE, 0.0),
        _axis(found.reference.steps, len(candidate)),
    ]
    return "\n".join(line.rstrip() for line in lines)


def _columns(values: Values) -> Values:
    count = min(_WIDTH, len(values))
    return [values[(column + 1) * len(values) // count - 1] for column in range(count)]


def _grid(curves: dict[str, Values], height: int, through: float | None) -> Iterator[str]:
    """Lines of the grid from the top; `through` is a value that the range covers, drawn as a line."""
    known = [value for values in curves.values() for value in values if value is not None]
    known += [] if through is None else [through]
    low, high = min(known, default=0.0), max(known, default=0.0)
    spread = (high - low) or abs(high) or 1.0
    stretch = _stretch(max(len(values) for values in curves.values()))
    rows = [[" "] * (stretch * len(next(iter(curves.values())))) for _ in range(height)]
    if through is not None:
        rows[_row(through, low, spread, height)] = ["-"] * len(rows[0])
    for mark, values in curves.items():
        for column, value in enumerate(values):
            if value is not None:
                row, at = rows[_row(value, low, spread, height)], column * stretch
                row[at] = "*" if row[at] in curves and row[at] != mark else mark
    for index, row in enumerate(rows):
        label = low if index == height - 1 else high if index == 0 and high > low else None
        yield f"{'' if label is None else format(label, '.4g'):>{_LABEL}} |{''.join(row)}"


def _row(value: float, low: float, spread: float, height: int) -> int:
    return height - 1 - round((value - low) / spread * (height - 1))


def _stretch(count: int) -> int:
    """Columns a step: up to three where there is room."""
    return max(1, min(3, _WIDTH // max(count, 1)))


def _axis(steps: Sequence[int], count: int) -> str:
    width = _stretch(count) * (count - 1)
    first, last = str(steps[0]), str(steps[-1])
    return f"{'step':>{_LABEL}}  {first}{last.rjust(max(width + 1 - len(first), len(last) + 1))}"
