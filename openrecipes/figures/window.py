"""Which steps of a run are scored."""

from math import ceil
from typing import Final

SKIP_QUARTER: Final = "skip-quarter/1"


def skip_quarter(steps: int) -> tuple[int, int]:
    """First and last scored step, from 0, both scored: the first ceil(steps / 4) steps are dropped.

    14 steps give (4, 13), 20 give (5, 19). The rule that published recipes use; its name is SKIP_QUARTER.
    Raises: ValueError if no step would be left, or step 0 would be scored.
    """
    if steps < 2:
        raise ValueError(f"{steps} steps leave none to score once the first quarter is dropped")
    return ceil(steps / 4), steps - 1
