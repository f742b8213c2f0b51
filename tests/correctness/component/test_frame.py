import datetime
from dataclasses import replace

import pytest

from openrecipes.correctness.component.frame import (
    Circumstances,
    Control,
    Findings,
    Judged,
    Report,
    Tier,
    control,
    worst_of_each,
)

SOUND = Judged(tensor="w", setting="1 step", check="update", error=5e-7, bound=1e-3, floor=5e-7, elements=10)
CAUGHT = Control(name="lr", spoilt="learning rate +1 %", caught_by=("update",))


def report(*judged: Judged, controls: tuple[Control, ...] = (CAUGHT,), tier: Tier = Tier.TRANSFORMER_ENGINE) -> Report:
    return Report(
        component="precision-aware-adam",
        title="precision-aware Adam",
        reference="an FP64 reference",
        implementation="TE FusedAdam",
        tier=tier,
        findings=Findings(shape="one layer", judged=judged, controls=controls),
        circumstances=Circumstances(
            gpu="H200",
            date=datetime.date(2026, 11, 30),
            versions={"torch": "2.11.0"},
            seconds=12.5,
            peak_memory_bytes=2**30,
        ),
    )


def test_what_is_within_its_bound_passes_when_every_control_is_caught():
    assert report(SOUND).passed


@pytest.mark.parametrize("error", [2e-3, float("nan"), float("inf")])
def test_what_is_beyond_its_bound_or_no_number_fails(error):
    assert not report(SOUND, replace(SOUND, error=error)).passed


def test_a_count_of_wrong_elements_allows_none():
    assert report(replace(SOUND, error=0, bound=0)).passed
    assert not report(replace(SOUND, error=1, bound=0)).passed


def test_a_control_that_nothing_catches_fails_the_test():
    assert not report(SOUND, controls=(CAUGHT, replace(CAUGHT, caught_by=()))).passed


def test_nothing_judged_and_no_control_is_no_pass():
    assert not report().passed
    assert not report(SOUND, controls=()).passed


@pytest.mark.parametrize("tier", list(Tier))
def test_only_the_training_stacks_own_code_is_evidence(tier):
    found = report(SOUND, tier=tier)
    assert found.evidence == (tier not in (Tier.TORCH_GPU, Tier.TORCH_CPU))
    assert ("stand-in" in found.why_evidence) != found.evidence


def test_a_control_is_caught_by_the_checks_that_fail_each_named_once():
    wrong = replace(SOUND, error=1.0)
    outcome = control("x", "y", sound=lambda: [SOUND], spoilt_judged=lambda: [SOUND, wrong, wrong])
    assert outcome.caught_by == ("update",)
    assert not control("x", "y", sound=lambda: [SOUND], spoilt_judged=lambda: [SOUND]).caught


def test_nothing_counts_as_caught_where_sound_code_fails_too():
    wrong = replace(SOUND, error=1.0)
    assert not control("x", "y", sound=lambda: [wrong], spoilt_judged=lambda: [wrong]).caught


def test_equal_tensors_become_one_line_with_the_worst_error():
    worse = replace(SOUND, error=7e-7)
    (one,) = worst_of_each([SOUND, worse, SOUND])
    assert (one.error, one.elements, one.tensors) == (7e-7, 30, 3)


def test_counts_of_equal_tensors_are_added_and_nan_is_kept():
    count = replace(SOUND, bound=0, error=2)
    (one,) = worst_of_each([count, replace(count, error=0), count])
    assert one.error == 4
    (other,) = worst_of_each([SOUND, replace(SOUND, error=float("nan")), SOUND])
    assert not other.passed
