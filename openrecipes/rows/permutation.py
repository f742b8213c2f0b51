"""The seeded global order of the conversations, the same on every platform and in every version.

No library's shuffle is used: those are free to change. The order is that of SplitMix64's outputs.
"""

import numpy as np
from numpy.typing import NDArray

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)

MAX_SEED = 2**64 - 1


def splitmix64(seed: int, count: int) -> NDArray[np.uint64]:
    """The first `count` outputs of SplitMix64 started at `seed`.

    Source: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", figure 17.
    """
    state = np.arange(1, count + 1, dtype=np.uint64) * _GAMMA + np.uint64(seed)
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))


def permutation(seed: int, count: int) -> NDArray[np.int64]:
    """The indices 0 to count - 1, sorted by (output of SplitMix64 for that index, index)."""
    return np.argsort(splitmix64(seed, count), kind="stable")
