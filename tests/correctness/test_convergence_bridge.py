"""Megatron-Bridge's check to the digit, its edge cases as its own function has them."""

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loss_curves import CANDIDATE, NEGATIVE, REFERENCE

from openrecipes.correctness.convergence_bridge import BridgeVerdict, bridge_verdict
from openrecipes.verdict.convergence_rules import BRIDGE_RULES, FUNCTION, PIPELINE

LOSSES = st.lists(st.floats(0.01, 20), min_size=1, max_size=60)


def verdict_of(candidate: object, rule: str = "pipeline", reference: object = REFERENCE) -> BridgeVerdict:
    return bridge_verdict(list(candidate), list(reference), BRIDGE_RULES[f"megatron-bridge/{rule}"])  # type: ignore[call-overload]


def test_the_test_vector_gives_the_functions_digits() -> None:
    found = verdict_of(CANDIDATE, "function")
    assert found.correlation == 0.9999948453984675
    assert found.final_loss_difference == 8.355437665787169e-05
    assert (found.points_scored, found.pointwise_failures, found.outliers, found.passed) == (20, 0, 0, True)


def test_the_test_vector_gives_the_pipelines_digits() -> None:
    found = verdict_of(CANDIDATE)
    assert found.correlation == 0.9999907993278716
    assert found.final_loss_difference == 8.355437665787169e-05
    assert (found.points_scored, found.pointwise_failures, found.outliers, found.passed) == (16, 0, 0, True)


@pytest.mark.parametrize(
    ("candidate", "correlation", "final", "failures", "passed"),
    [
        (np.add(REFERENCE, np.linspace(0, 0.02, 20)), "0.98212", "2.653e-02", 0, True),
        (np.multiply(REFERENCE, 1.04), "1.00000", "4.000e-02", 0, True),
        (REFERENCE[::-1], "-0.60048", "7.732e-02", 10, False),
    ],
)
def test_changed_references_give_the_published_figures(
    candidate: object, correlation: str, final: str, failures: int, passed: bool
) -> None:
    found = verdict_of(candidate)
    assert f"{found.correlation:.5f}" == correlation
    assert f"{found.final_loss_difference:.3e}" == final
    assert (found.pointwise_failures, found.passed) == (failures, passed)
    assert found.outliers == 0


def test_the_rules_differ_in_the_final_loss_and_the_skip_only() -> None:
    assert (FUNCTION.final_loss_tolerance, PIPELINE.final_loss_tolerance) == (0.03, 0.05)
    assert (FUNCTION.skip_first, PIPELINE.skip_first) == (0.0, 0.2)
    four_percent = (*REFERENCE[:19], REFERENCE[19] * 1.04)
    assert verdict_of(four_percent).failed == ()
    assert "final_loss" in verdict_of(four_percent, "function").failed


HOLES = ("all NaN", "one NaN in the middle", "NaN at the end", "NaN in the skipped part", "4.5 % higher")


@pytest.mark.parametrize("name", HOLES)
def test_the_published_check_has_its_holes(name: str) -> None:
    assert verdict_of(NEGATIVE[name]).passed


def test_two_constant_curves_pass_for_want_of_a_correlation() -> None:
    found = verdict_of([0.7] * 20, reference=[0.7] * 20)
    assert isnan(found.correlation)
    assert found.passed


def test_a_spike_fails_the_correlation() -> None:
    spiked = [*CANDIDATE[:10], CANDIDATE[10] + 0.2, *CANDIDATE[11:]]
    assert verdict_of(spiked).failed == ("correlation",)


def test_one_failure_of_sixteen_passes_and_two_fail() -> None:
    for count, failed in ((1, False), (2, True)):
        bent = [loss * (1.06 if 10 <= step < 10 + count else 1) for step, loss in enumerate(REFERENCE)]
        found = verdict_of(bent)
        assert found.pointwise_failures == count
        assert ("point_wise_tolerance" in found.failed) is failed


def test_limits_between_tolerances_are_strict() -> None:
    for reference, tolerance in ((2.0, 0.05), (2.001, 0.10), (0.5, 0.02), (0.501, 0.05)):
        for factor, beyond in ((tolerance * 0.99, 0), (tolerance * 1.01, 1)):
            found = bridge_verdict([reference * (1 + factor)], [reference], FUNCTION)
            assert found.pointwise_failures == beyond


def test_a_reference_of_zero_is_compared_absolutely() -> None:
    found = bridge_verdict([0.5, 0.01], [0.4, 0.0], FUNCTION)
    assert found.final_loss_difference == 0.01


def test_a_negative_reference_divides_by_itself_as_published() -> None:
    assert bridge_verdict([1.0, -0.5], [1.0, -1.0], FUNCTION).final_loss_difference == -0.5


@pytest.mark.parametrize(("candidate", "reference"), [([], []), ([1.0], [1.0, 2.0])])
def test_what_cannot_be_paired_is_refused(candidate: list[float], reference: list[float]) -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        bridge_verdict(candidate, reference, PIPELINE)


@given(losses=LOSSES)
def test_a_curve_passes_against_itself(losses: list[float]) -> None:
    for rule in BRIDGE_RULES.values():
        found = bridge_verdict(losses, losses, rule)
        assert found.passed
        assert found.points_scored == len(losses) - int(len(losses) * rule.skip_first)
        assert found.final_loss_difference == 0


@given(losses=LOSSES, factor=st.floats(0.99, 1.01))
def test_figures_are_those_of_a_plain_loop(losses: list[float], factor: float) -> None:
    bent = [loss * factor for loss in losses]
    found = bridge_verdict(bent, losses, FUNCTION)
    assert found.final_loss_difference == pytest.approx(abs(factor - 1), abs=1e-12)
    assert found.pointwise_failures == 0


def test_a_nan_is_printed_as_text_and_not_as_a_number() -> None:
    assert isnan(verdict_of([nan] * 20).document()["correlation"])
