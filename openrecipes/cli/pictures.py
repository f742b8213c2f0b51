"""Small pictures made of characters."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

_BARS: Final = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], *, width: int) -> str:
    """One bar a value from the lowest to the highest, all bars mid-high where they are equal; at most `width` bars.

    More values than bars are put together, each bar showing the highest of its own. Values are finite.
    """
    if not values:
        return ""
    count = min(width, len(values))
    edges = [index * len(values) // count for index in range(count + 1)]
    peaks = [max(values[first:last]) for first, last in pairwise(edges)]
    low, high = min(peaks), max(peaks)
    if high == low:
        return _BARS[3] * count
    return "".join(_BARS[round((peak - low) / (high - low) * (len(_BARS) - 1))] for peak in peaks)
