import random
from math import exp, isclose, log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from varied_recipes import published

from openrecipes.compare.rates import Rate, rate_of_result, rate_of_times, ratio_interval
from openrecipes.score.spread import mean_interval

rates = st.builds(
    Rate,
    tokens_per_s_per_gpu=st.floats(0.01, 1e6),
    relative_error=st.floats(0, 5),
    degrees=st.integers(1, 200),
    basis=st.just("test"),
)


@given(rates, rates)
def test_an_interval_holds_the_ratio_and_both_ends_are_positive(base: Rate, other: Rate) -> None:
    interval = ratio_interval(base, other)
    assert interval is not None
    ratio = other.tokens_per_s_per_gpu / base.tokens_per_s_per_gpu
    assert 0 < interval[0] <= ratio * (1 + 1e-12)
    assert interval[1] >= ratio * (1 - 1e-12)


@given(rates, rates)
def test_the_other_way_round_gives_the_inverse(base: Rate, other: Rate) -> None:
    there, back = ratio_interval(base, other), ratio_interval(other, base)
    assert there is not None
    assert back is not None
    assert isclose(log(there[0]), -log(back[1]), rel_tol=1e-9, abs_tol=1e-9)


def test_without_a_spread_there_is_no_interval() -> None:
    known = rate_of_times(500.0, [15.0, 15.1, 14.9, 15.0])
    unknown = rate_of_times(500.0, [15.0])
    assert ratio_interval(known, unknown) is None
    assert ratio_interval(unknown, known) is None


def test_against_an_exact_base_the_interval_is_the_scores_own() -> None:
    times = [15.0, 15.2, 14.9, 15.1, 15.0, 14.8, 15.3, 15.0, 15.1, 14.9]
    mean = sum(times) / len(times)
    own = mean_interval(times)
    interval = ratio_interval(
        Rate(tokens_per_s_per_gpu=1.0, relative_error=0.0, degrees=1, basis="exact"), rate_of_times(1.0, times)
    )
    assert own is not None
    assert interval is not None
    assert log(interval[1]) == pytest.approx((own[1] - mean) / mean)


def test_the_interval_holds_a_true_ratio_of_one_about_as_often_as_it_says() -> None:
    source, held = random.Random(7), 0
    for _ in range(400):
        sides = []
        for _ in range(2):
            times = [source.gauss(15, 0.3) for _ in range(10)]
            sides.append(rate_of_times(1 / (sum(times) / 10), times))
        interval = ratio_interval(*sides)
        assert interval is not None
        held += interval[0] <= 1 <= interval[1]
    assert 0.92 <= held / 400 <= 0.99


def test_a_published_rate_takes_its_error_from_its_cv() -> None:
    rate = rate_of_result(published().result)
    assert rate is not None
    assert rate.relative_error == pytest.approx(0.0114 / 10**0.5, rel=1e-3)
    assert rate.degrees == 9
    assert "CV over 10 steps" in rate.basis


def test_a_published_interval_counts_before_the_cv() -> None:
    result = published().result.model_copy(update={"confidence_interval": (540.32, 550.32), "runs": 3})
    rate = rate_of_result(result)
    assert rate is not None
    assert rate.degrees == 2
    assert rate.relative_error == pytest.approx(5 / 4.3027 / 545.32, rel=1e-3)


def test_a_draft_has_no_rate_and_a_figure_without_cv_no_error() -> None:
    result = published().result
    assert rate_of_result(result.model_copy(update={"tokens_per_s_per_gpu": None})) is None
    bare = rate_of_result(result.model_copy(update={"step_time_cv_percent": None}))
    assert bare is not None
    assert bare.relative_error is None


def test_an_absurd_published_spread_gives_a_finite_interval() -> None:
    wild = rate_of_result(published().result.model_copy(update={"step_time_cv_percent": 1e17}))
    assert wild is not None
    interval = ratio_interval(wild, wild)
    assert interval is not None
    assert interval[1] <= exp(701)
