"""The whole comparison: curves that must fail do, refusals come with their reason, figures go where recipes have."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_curves import CANDIDATE, FROZEN, NEGATIVE, REFERENCE, curve, reference

from openrecipes import units
from openrecipes.correctness.convergence import Convergence, convergence
from openrecipes.correctness.curve import Curve
from openrecipes.verdict.convergence_rules import BRIDGE_RULES, FUNCTION, PIPELINE


def failed(found: Convergence) -> set[str]:
    return {check.name for check in found.strict if check.result == "fail"}


def frozen_arm() -> Curve:
    return curve(FROZEN, name="frozen.log", lr=0.0)


def test_the_test_vector_passes_under_both_rules() -> None:
    for rule in BRIDGE_RULES.values():
        found = convergence(curve(CANDIDATE), reference(), rule=rule)
        assert found.passed
        assert failed(found) == set()
        assert found.document()["correlation"] == found.chosen.correlation  # type: ignore[union-attr]
    assert found.not_compared == ()


@pytest.mark.parametrize("rule", BRIDGE_RULES)
@pytest.mark.parametrize("name", NEGATIVE)
def test_negative_controls_fail(name: str, rule: str) -> None:
    found = convergence(curve(NEGATIVE[name]), reference(), rule=BRIDGE_RULES[rule])
    assert not found.passed
    assert failed(found)


def test_each_strict_check_of_losses_is_needed_for_some_control() -> None:
    caught = set().union(*(failed(convergence(curve(losses), reference())) for losses in NEGATIVE.values()))
    assert {"finite", "variance", "first-losses", "final-loss", "correlation"} <= caught


def test_a_frozen_candidate_is_refused_where_its_rate_shows() -> None:
    found = convergence(curve(FROZEN, lr=0.0), reference())
    assert found.is_refused
    assert "learning rate 0 at step 0, where reference.log has 1e-05" in str(found.problems[0])


def test_the_learning_signal_tells_a_frozen_model_from_a_learning_one() -> None:
    passing = convergence(curve(CANDIDATE), reference(), frozen=frozen_arm())
    signal = passing.check("learning-signal")
    assert passing.passed
    assert signal is not None
    away, learnt = (np.subtract(losses, REFERENCE)[4:] for losses in (CANDIDATE, FROZEN))
    assert signal.value == pytest.approx(np.linalg.norm(away) / np.linalg.norm(learnt))
    fails = convergence(curve(FROZEN), reference(), frozen=frozen_arm())
    assert "learning-signal" in failed(fails)
    assert fails.check("learning-signal").value == pytest.approx(1.0)  # type: ignore[union-attr]


def test_a_frozen_arm_that_learns_is_refused() -> None:
    found = convergence(curve(CANDIDATE), reference(), frozen=curve(FROZEN, name="frozen.log"))
    assert {problem.rule for problem in found.problems} == {"convergence-frozen"}
    assert not found.passed


def test_a_frozen_arm_like_the_reference_proves_nothing() -> None:
    found = convergence(curve(CANDIDATE), reference(), frozen=curve(REFERENCE, name="frozen.log", lr=0.0))
    assert failed(found) == {"learning-signal"}


def test_a_run_of_14_steps_is_refused_against_one_of_20_with_the_reason() -> None:
    found = convergence(curve(CANDIDATE[:14]), reference())
    assert found.is_refused
    assert found.result == "fail"
    [problem] = found.problems
    assert problem.rule == "convergence-schedule"
    assert "a run of 14 steps against one of 20" in problem.what
    assert "sized from the run's length" in problem.what
    document = found.document()
    assert (document["refused"], document["correlation"], document["rules"]) == (True, None, [])


def test_without_rates_another_length_is_refused_too() -> None:
    found = convergence(curve(CANDIDATE[:14], lr=None), curve(REFERENCE, name="reference.log", lr=None))
    assert [problem.rule for problem in found.problems] == ["convergence-schedule"]


def test_a_cut_log_of_the_same_schedule_is_no_refusal_and_fails() -> None:
    whole = curve(CANDIDATE)
    found = convergence(replace(whole, points=whole.points[:14]), reference())
    assert not found.is_refused
    assert {"same-steps", "final-loss"} <= failed(found)


def test_the_runs_length_is_its_own_arguments_where_they_say() -> None:
    words = {"num_rollout": "20", "rollout_batch_size": "128", "n_samples_per_prompt": "1", "global_batch_size": "128"}
    short = curve(CANDIDATE[:14], lr=None, arguments=words)
    found = convergence(short, curve(REFERENCE, name="reference.log", lr=None))
    assert not found.is_refused
    assert "same-steps" in failed(found)


def changed(at: int, **values: object) -> Curve:
    good = curve(CANDIDATE)
    points = tuple(replace(p, **values) if p.step == at else p for p in good.points)  # type: ignore[arg-type]
    return replace(good, points=points)


def repeated() -> Curve:
    good = curve(CANDIDATE)
    return replace(good, points=(*good.points, good.points[7]))


def lacking(step: int) -> Curve:
    good = curve(CANDIDATE)
    return replace(good, points=tuple(point for point in good.points if point.step != step))


@pytest.mark.parametrize(
    ("spoilt", "check"),
    [
        (repeated(), "complete"),
        (lacking(7), "complete"),
        (lacking(7), "same-steps"),
        (changed(7, loss=None), "complete"),
        (changed(7, grad_norm=nan), "finite"),
        (changed(7, grad_norm=nan), "grad-norms"),
        (changed(7, grad_norm=None), "grad-norms"),
        (changed(7, grad_norm=1.6), "grad-norms"),
        (changed(7, target_tokens=100_000), "target-tokens"),
        (changed(7, target_tokens=None), "target-tokens"),
        (changed(0, loss=0.8123 * 1.002), "first-losses"),
        (changed(1, loss=nan), "first-losses"),
        (changed(19, loss=0.754 * 1.002), "final-loss"),
    ],
)
def test_the_strict_companion_sees_what_the_published_check_does_not(spoilt: Curve, check: str) -> None:
    found = convergence(spoilt, reference())
    assert found.chosen is not None
    assert found.chosen.passed
    assert check in failed(found)
    assert not found.passed


def test_a_gradient_norm_may_differ_by_a_percent_or_by_a_hundredth() -> None:
    near = changed(7, grad_norm=curve(CANDIDATE).points[7].grad_norm + 0.0099)  # type: ignore[operator]
    assert convergence(near, reference()).passed


def test_a_repetition_of_the_reference_puts_the_noise_beside_each_figure() -> None:
    again = curve(np.multiply(REFERENCE, 1 + 1e-5).tolist(), name="again.log")
    found = convergence(curve(CANDIDATE), reference(), repeat=again)
    final = found.check("final-loss")
    assert final is not None
    assert final.noise == pytest.approx(1e-5)
    assert final.value == pytest.approx(8.355e-5, rel=1e-3)
    assert "reference again: again.log" in found.document()["note"]
    assert convergence(curve(CANDIDATE), reference()).check("final-loss").noise is None  # type: ignore[union-attr]


def test_a_repetition_of_another_schedule_is_refused() -> None:
    found = convergence(curve(CANDIDATE), reference(), repeat=curve(REFERENCE[:14], name="again.log"))
    assert [problem.place.file for problem in found.problems] == ["again.log"]


def test_fewer_than_ten_scored_points_say_too_little() -> None:
    found = convergence(curve(CANDIDATE[:11]), curve(REFERENCE[:11], name="reference.log"))
    assert failed(found) == {"points"}
    assert convergence(curve(CANDIDATE[:11]), curve(REFERENCE[:11], name="r"), rule=FUNCTION).passed


def test_what_neither_log_states_is_named_and_keeps_the_companion_out_of_the_recipe() -> None:
    bare = [
        replace(arm, points=tuple(replace(p, target_tokens=None, grad_norm=None) for p in arm.points))
        for arm in (curve(CANDIDATE), reference())
    ]
    found = convergence(*bare)
    assert found.passed
    assert found.not_compared == ("target-tokens", "grad-norms")
    assert found.block().strict is None
    assert convergence(curve(CANDIDATE), reference()).block().strict == "pass"


def test_the_same_log_twice_is_warned_of() -> None:
    one = curve(CANDIDATE, log_sha256="a" * 64)
    found = convergence(one, replace(one, name="copy.log"))
    assert [problem.rule for problem in found.problems] == ["convergence-same-log"]
    assert found.passed


def test_a_log_without_losses_is_refused() -> None:
    found = convergence(curve([None] * 20), reference())
    assert [problem.rule for problem in found.problems] == ["convergence-no-losses"]
    assert not found.passed


def test_the_block_has_published_digits_and_names_its_logs() -> None:
    arms = curve(CANDIDATE, log_sha256="a" * 64), replace(reference(), log_sha256="b" * 64)
    block = convergence(*arms, rule=PIPELINE).block()
    assert (block.steps, block.result, block.correlation) == (20, "pass", 0.99999)
    assert (block.final_loss_difference, block.pointwise_failures) == (8.4e-05, 0)
    assert (block.rule, block.points_scored, block.outliers) == ("megatron-bridge/pipeline", 16, 0)
    assert (block.candidate_log_sha256, block.reference_log_sha256) == ("a" * 64, "b" * 64)
    assert block.frozen_log_sha256 is None


def test_a_refused_comparison_has_a_block_that_fails() -> None:
    block = convergence(curve(CANDIDATE[:14]), reference()).block()
    assert (block.result, block.correlation, block.strict) == ("fail", None, None)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=3, max_size=14))
def test_any_losses_give_a_verdict_a_document_and_a_block(losses: list[float]) -> None:
    found = convergence(curve(losses, lr=None), reference(REFERENCE[: len(losses)]))
    assert not found.passed
    assert found.document()["result"] == found.block().result == "fail"
    other = convergence(curve(CANDIDATE[: len(losses)], lr=None), reference(losses))
    assert other.block().result == "fail"


@given(st.floats(-1, 1))
def test_a_correlation_is_never_rounded_up(value: float) -> None:
    assert abs(units.correlation(value)) <= abs(value)
    assert abs(units.correlation(value) - value) < 1.1e-5


def test_a_correlation_keeps_the_nines_it_has() -> None:
    assert units.correlation(0.9999948453984675) == 0.99999
    assert units.correlation(0.9999995) == 0.999999
    assert units.correlation(1 - 1e-16) <= 1


@settings(max_examples=40)
@given(st.lists(st.floats(0.1, 5, allow_nan=False), min_size=13, max_size=40))
def test_a_curve_against_itself_passes_unless_it_never_changes(losses: list[float]) -> None:
    found = convergence(curve(losses), reference(losses))
    if len(set(losses)) == 1:
        assert failed(found) >= {"variance"}
    else:
        assert failed(found) <= {"correlation"}  # of a variation beside which rounding is large
