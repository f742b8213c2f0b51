"""Megatron-Bridge's convergence check, as published: to the digit, and with its holes.

`validate_convergence` of Megatron-Bridge 067f987d. A NaN compares as false everywhere, so it passes here; the strict
companion beside it does not let it through.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from openrecipes.verdict.convergence_rules import BridgeRule


@dataclass(frozen=True, kw_only=True, slots=True)
class BridgeVerdict:
    """What the check finds under one rule. `failed` names tests by Megatron-Bridge's own words.

    `correlation` and `final_loss_difference` may be NaN, which fails nothing.
    """

    rule: BridgeRule
    failed: tuple[str, ...]
    points_scored: int
    correlation: float
    pointwise_failures: int
    final_loss_candidate: float
    final_loss_reference: float
    final_loss_difference: float
    outliers: int

    @property
    def passed(self) -> bool:
        """Whether none of the four tests failed."""
        return not self.failed

    def document(self) -> dict[str, Any]:
        """The verdict as `--json` prints it."""
        return {
            "rule": self.rule.name,
            "result": "pass" if self.passed else "fail",
            "failed": list(self.failed),
            "points_scored": self.points_scored,
            "correlation": self.correlation,
            "pointwise_failures": self.pointwise_failures,
            "final_loss_candidate": self.final_loss_candidate,
            "final_loss_reference": self.final_loss_reference,
            "final_loss_difference": self.final_loss_difference,
            "outliers": self.outliers,
            "outlier_ratio": self.outliers / self.points_scored,
        }


def bridge_verdict(candidate: Sequence[float], reference: Sequence[float], rule: BridgeRule) -> BridgeVerdict:
    """The verdict on two loss curves of equal length, step by step in the same order.

    Raises: ValueError if they are empty or of unequal length.
    """
    if len(candidate) != len(reference) or not len(reference):
        raise ValueError(f"{len(candidate)} and {len(reference)} points cannot be compared")
    skip = max(0, int(len(reference) * rule.skip_first))
    cur = np.asarray(candidate, dtype=np.float64)[skip:]
    gold = np.asarray(reference, dtype=np.float64)[skip:]
    with np.errstate(all="ignore"):
        correlation = float(np.corrcoef(cur, gold)[0, 1]) if len(gold) > 1 else nan  # one point has none
        pointwise = sum(_beyond(float(c), float(g), rule) for c, g in zip(cur, gold, strict=True))
        final = _final_difference(float(cur[-1]), float(gold[-1]))
        residual = cur - gold
        outliers = int(np.sum(np.abs(residual - np.mean(residual)) > rule.outlier_sigmas * np.std(residual)))
    figures = {"correlation": correlation, "pointwise": pointwise, "final": final, "outliers": outliers}
    return BridgeVerdict(
        rule=rule,
        failed=tuple(_failed(figures, len(gold), rule)),
        points_scored=len(gold),
        correlation=correlation,
        pointwise_failures=pointwise,
        final_loss_candidate=float(cur[-1]),
        final_loss_reference=float(gold[-1]),
        final_loss_difference=final,
        outliers=outliers,
    )


def _failed(figures: dict[str, float], points: int, rule: BridgeRule) -> Iterator[str]:
    if figures["correlation"] < rule.correlation:
        yield "correlation"
    if figures["pointwise"] / points > rule.max_outlier_ratio:
        yield "point_wise_tolerance"
    if figures["final"] > rule.final_loss_tolerance:
        yield "final_loss"
    if figures["outliers"] / points > rule.max_outlier_ratio:
        yield "outliers"


def _beyond(cur: float, gold: float, rule: BridgeRule) -> bool:
    """Whether a point is outside the tolerance that its reference loss has."""
    if gold > 2.0:
        tolerance = rule.high_loss_tolerance
    elif gold > 0.5:
        tolerance = rule.medium_loss_tolerance
    else:
        tolerance = rule.low_loss_tolerance
    return (abs(cur - gold) / abs(gold) if gold != 0 else abs(cur)) > tolerance


def _final_difference(cur: float, gold: float) -> float:
    """The last point's relative difference; over the reference itself, not its size, as published."""
    return abs(cur - gold) / gold if gold != 0 else abs(cur)
