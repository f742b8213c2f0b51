"""The named rules by which two loss curves are judged, with every threshold.

Megatron-Bridge 067f987d, scripts/performance/utils/evaluate.py, `validate_convergence`: the function's own defaults,
and the values that its pipeline passes (argument_parser.py, always passed on by setup_experiment.py).
"""

from dataclasses import dataclass
from typing import Final

from openrecipes.problems import Place, Problem, UsageError


@dataclass(frozen=True, kw_only=True, slots=True)
class BridgeRule:
    """One threshold set of Megatron-Bridge's check. All but the counts are fractions.

    `skip_first` is the share of points cut from the front, truncated to whole points. Loss tolerances are relative, by
    the reference's loss: high above 2.0, medium above 0.5, low else.
    """

    name: str
    correlation: float = 0.95
    high_loss_tolerance: float = 0.10
    medium_loss_tolerance: float = 0.05
    low_loss_tolerance: float = 0.02
    final_loss_tolerance: float
    max_outlier_ratio: float = 0.1
    outlier_sigmas: float = 3.0
    skip_first: float


@dataclass(frozen=True, kw_only=True, slots=True)
class StrictRule:
    """Bounds of the companion that closes the check's holes.

    Losses are compared relatively; a gradient norm may differ by a share of the reference's or absolutely, whichever
    is more (slime's own continuous-integration rule).
    """

    name: str = "strict/1"
    first_losses: float = 1e-3
    grad_norm_relative: float = 0.01
    grad_norm_absolute: float = 0.01
    final_loss: float = 1e-3
    correlation: float = 0.999
    learning_signal: float = 0.1
    min_points: int = 10


PIPELINE: Final = BridgeRule(name="megatron-bridge/pipeline", final_loss_tolerance=0.05, skip_first=0.20)
FUNCTION: Final = BridgeRule(name="megatron-bridge/function", final_loss_tolerance=0.03, skip_first=0.0)
BRIDGE_RULES: Final = {rule.name: rule for rule in (PIPELINE, FUNCTION)}
STRICT: Final = StrictRule()


def bridge_rule(name: str) -> BridgeRule:
    """The rule of this name; the part after the slash is enough. Raises: UsageError if there is none."""
    found = BRIDGE_RULES.get(name) or BRIDGE_RULES.get(f"megatron-bridge/{name}")
    if found is None:
        what = f"{name} is no rule for loss curves"
        mend = f"use one of {', '.join(BRIDGE_RULES)}"
        raise UsageError(Problem(place=Place(key="--rule"), rule="convergence-rule", what=what, mend=mend))
    return found
