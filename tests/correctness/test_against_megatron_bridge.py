"""Our reproduction and Megatron-Bridge's own function agree to the last digit on any curves."""

import ast
import logging
import math
import os
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openrecipes.correctness.convergence_bridge import bridge_verdict
from openrecipes.verdict.convergence_rules import BRIDGE_RULES, FUNCTION, BridgeRule

LOGGER = logging.getLogger("megatron-bridge")
CASES = 500


def validate_convergence() -> Callable[..., dict[str, Any]]:
    """The function alone, out of a file whose other imports need a GPU stack."""
    path = Path(os.environ["MEGATRON_BRIDGE_DIR"]) / "scripts/performance/utils/evaluate.py"
    module = ast.parse(path.read_text(encoding="utf-8"))
    wanted = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "validate_convergence"]
    assert len(wanted) == 1
    names: dict[str, Any] = {**vars(typing), "np": np, "logging": logging, "math": math, "logger": LOGGER}
    exec(compile(ast.Module(body=list(wanted), type_ignores=[]), str(path), "exec"), names)
    found: Callable[..., dict[str, Any]] = names["validate_convergence"]
    return found


def curves(seed: int) -> tuple[list[float], list[float]]:
    """A pair of some length, loss and noise; some with a NaN, a zero, a shift, or no change at all."""
    draw = np.random.default_rng(seed)
    count, scale = int(draw.integers(2, 60)), 10 ** draw.uniform(-1.2, 1.2)
    reference = np.abs(draw.normal(scale, 0.1 * scale, count)) + 1e-3
    candidate = reference * (1 + draw.normal(0, 10 ** draw.uniform(-5, -0.7), count))
    at = int(draw.integers(0, count))
    match seed % 6:
        case 1:
            candidate = np.roll(reference, 1)
        case 2:
            candidate = reference.copy()
        case 3:
            candidate[at] = np.nan
        case 4:
            candidate = np.full(count, reference[0])
        case 5:
            reference[at] = 0.0
    return candidate.tolist(), reference.tolist()


def config(rule: BridgeRule) -> dict[str, float] | None:
    """The rule as their configuration; None for the function's own defaults."""
    if rule is FUNCTION:
        return None
    return {
        "correlation_threshold": rule.correlation,
        "high_loss_tolerance": rule.high_loss_tolerance,
        "medium_loss_tolerance": rule.medium_loss_tolerance,
        "low_loss_tolerance": rule.low_loss_tolerance,
        "final_loss_tolerance": rule.final_loss_tolerance,
        "max_outlier_ratio": rule.max_outlier_ratio,
        "outlier_threshold": rule.outlier_sigmas,
        "skip_first_percent_loss": rule.skip_first,
    }


@pytest.mark.checkout("MEGATRON_BRIDGE_DIR")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("rule", BRIDGE_RULES.values(), ids=lambda rule: rule.name)
def test_verdicts_and_figures_are_theirs(rule: BridgeRule) -> None:
    theirs_of = validate_convergence()
    passed = 0
    for seed in range(CASES):
        candidate, reference = curves(seed)
        steps = [str(step) for step in range(len(reference))]
        theirs = theirs_of(np.array(candidate), np.array(reference), steps, LOGGER, None, config(rule))
        ours, metrics = bridge_verdict(candidate, reference, rule), theirs["metrics"]
        assert ours.passed == theirs["passed"]
        assert list(ours.failed) == theirs["failed_metrics"]
        assert same(ours.correlation, metrics["correlation"])
        assert same(ours.final_loss_difference, metrics["final_loss_diff"])
        assert ours.pointwise_failures == metrics["point_wise_failures"]
        assert (ours.outliers, ours.points_scored) == (metrics["outlier_count"], metrics["total_points"])
        passed += ours.passed
    assert 0.2 * CASES < passed < 0.8 * CASES


def same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))
