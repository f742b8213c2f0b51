"""Which steps of a run are scored: named, versioned window rules.

A rule of a new meaning gets a new version, so that an old result still says what it was.
"""

from collections.abc import Callable, Mapping
from math import ceil
from types import MappingProxyType
from typing import Final

Window = tuple[int, int]

SKIP_QUARTER: Final = "skip-quarter/1"
LAST_10: Final = "last-10/1"
LAST_30_PERCENT: Final = "last-30-percent/1"
TEN_TO_30: Final = "10-to-30/1"
DEFAULT_RULE: Final = SKIP_QUARTER


def skip_quarter(steps: int) -> Window:
    """First and last scored step of a run of `steps`: the first ceil(steps / 4) are dropped.

    Steps count from 0 and both ends are scored: 14 steps give 4 to 13, 20 give 5 to 19.
    Raises: ValueError if no step is left.
    """
    return _window(ceil(steps / 4), steps - 1, steps)


def last_10(steps: int) -> Window:
    """The last 10 steps. Raises: ValueError if the run has no more than these."""
    return _window(steps - 10, steps - 1, steps)


def last_30_percent(steps: int) -> Window:
    """The last ceil(0.3 x steps) steps. Raises: ValueError if no step is left."""
    return _window(steps - ceil(3 * steps / 10), steps - 1, steps)


def ten_to_30(steps: int) -> Window:
    """Steps 10 to 30, however long the run. Raises: ValueError if the run ends before step 30."""
    return _window(10, 30, steps)


RULES: Final[Mapping[str, Callable[[int], Window]]] = MappingProxyType(
    {SKIP_QUARTER: skip_quarter, LAST_10: last_10, LAST_30_PERCENT: last_30_percent, TEN_TO_30: ten_to_30}
)


def rule_of(window: Window, steps: int) -> str:
    """The rule that gives this window, the default first; `window A:B` where none does."""
    for name, rule in RULES.items():
        try:
            if rule(steps) == window:
                return name
        except ValueError:
            continue
    return explicit_rule(window)


def explicit_rule(window: Window) -> str:
    """The name of a window that was given as such: `window 4:13`."""
    return f"window {window[0]}:{window[1]}"


def _window(first: int, last: int, steps: int) -> Window:
    if not 1 <= first <= last < steps:
        raise ValueError(f"steps {first} to {last} of a run of {steps} steps are no window after the first step")
    return first, last
