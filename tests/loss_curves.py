"""Loss curves for the convergence check: a published-like pair, and curves that must never pass."""

from collections.abc import Mapping, Sequence
from math import cos, nan, pi
from typing import Final

import numpy as np

from openrecipes.correctness.curve import Curve, Point

# The digits that Megatron-Bridge's function gave for this pair stand in tests/correctness/test_convergence_bridge.py.
REFERENCE: Final = (
    0.8123, 0.7741, 0.8392, 0.7918, 0.7655, 0.8067, 0.7433, 0.7812, 0.7586, 0.7999,
    0.7321, 0.7704, 0.7468, 0.7890, 0.7277, 0.7615, 0.7359, 0.7782, 0.7196, 0.7540,
)  # fmt: skip
CANDIDATE: Final = (
    0.8123, 0.77411, 0.83917, 0.79186, 0.76541, 0.80682, 0.74323, 0.78135, 0.75849, 0.79994,
    0.73228, 0.77026, 0.74689, 0.78895, 0.72783, 0.76134, 0.73597, 0.7781, 0.71971, 0.754063,
)  # fmt: skip
# What the rows alone give at these steps: the reference's losses without the drop of 0.06 over the run.
FROZEN: Final = tuple(loss + 0.06 * step / 19 for step, loss in enumerate(REFERENCE))


def curve(
    losses: Sequence[float | None],
    *,
    name: str = "candidate.log",
    lr: float | None = 1e-5,
    log_sha256: str | None = None,
    arguments: Mapping[str, str] | None = None,
) -> Curve:
    """A curve with cosine learning rates for its own length (`lr` None: none printed), norms and target tokens."""
    count = len(losses)
    points = tuple(
        Point(
            step=step,
            loss=loss,
            grad_norm=1.5 + 0.1 * cos(step),
            lr=None if lr is None else lr * (1 + cos(pi * step / count)) / 2,
            target_tokens=100_000 + 13 * step,
        )
        for step, loss in enumerate(losses)
    )
    return Curve(name=name, points=points, log_sha256=log_sha256, arguments=arguments or {})


def reference(losses: Sequence[float | None] = REFERENCE) -> Curve:
    return curve(losses, name="reference.log")


NEGATIVE: Final[Mapping[str, tuple[float, ...]]] = {
    "all NaN": (nan,) * 20,
    "one NaN in the middle": (*CANDIDATE[:9], nan, *CANDIDATE[10:]),
    "NaN at the end": (*CANDIDATE[:19], nan),
    "NaN in the skipped part": (nan, *CANDIDATE[1:]),
    "infinite": (*CANDIDATE[:9], float("inf"), *CANDIDATE[10:]),
    "shifted by one step": (*REFERENCE[1:], REFERENCE[-1]),
    "reversed": tuple(reversed(CANDIDATE)),
    "4.5 % higher": tuple(np.multiply(CANDIDATE, 1.045)),
    "4.5 % lower": tuple(np.multiply(CANDIDATE, 0.955)),
    "frozen": FROZEN,
    "constant": (0.75,) * 20,
    "drifting by 0.02": tuple(np.add(CANDIDATE, np.linspace(0, 0.02, 20))),
    "final point 4 % higher": (*CANDIDATE[:19], CANDIDATE[19] * 1.04),
}
