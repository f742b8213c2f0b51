"""Interval and trend of step times."""

import random
from math import isclose
from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.score.spread import (
    drift,
    mean_interval,
    step_times,
    student_t_quantile,
    student_t_within,
)

TIMES = st.lists(st.floats(0.1, 100), min_size=4, max_size=60)


@pytest.mark.parametrize(
    ("within", "degrees", "t"),
    [
        (0.95, 1, 12.7062),
        (0.95, 2, 4.3027),
        (0.95, 9, 2.2622),
        (0.99, 4, 4.6041),
        (0.95, 30, 2.0423),
        (0.99, 29, 2.7564),
    ],
)
def test_students_t_is_the_tabled_one(within: float, degrees: int, t: float) -> None:
    assert isclose(student_t_quantile(within, degrees), t, rel_tol=1e-4)
    assert isclose(student_t_within(t, degrees), within, rel_tol=1e-4)


def test_students_t_runs_into_the_normal_distribution_without_a_jump() -> None:
    assert isclose(student_t_within(1.96, 1000), student_t_within(1.96, 1001), rel_tol=1e-3)


@given(TIMES)
def test_the_interval_holds_the_mean(times: list[float]) -> None:
    interval = mean_interval(times)
    if interval is not None:
        assert 0 < interval[0] <= mean(times) * (1 + 1e-12)
        assert interval[1] >= mean(times) * (1 - 1e-12)


@given(TIMES, st.floats(0.01, 100))
def test_interval_and_trend_scale_with_the_times(times: list[float], k: float) -> None:
    one, other = mean_interval(times), mean_interval([k * time for time in times])
    assert (one is None) == (other is None) or isclose(min(times), max(times), rel_tol=1e-3)
    if one and other:
        assert all(isclose(k * a, b, rel_tol=1e-6) for a, b in zip(one, other, strict=True))
    before, after = drift(times), drift([k * time for time in times])
    assert before is not None
    assert after is not None
    assert isclose(before.percent, after.percent, rel_tol=1e-6, abs_tol=1e-6)


def test_the_interval_covers_the_mean_about_as_often_as_it_says() -> None:
    draw = random.Random(20261130)
    hits = 0
    for _ in range(600):
        interval = mean_interval([10 + draw.gauss(0, 0.1) for _ in range(10)])
        assert interval is not None
        hits += interval[0] <= 10 <= interval[1]
    assert 0.92 <= hits / 600 <= 0.99


def test_a_few_steps_have_no_interval() -> None:
    assert mean_interval([1.0, 1.1, 0.9]) is None
    assert mean_interval([1.0, 1.1, 0.9, 1.0]) is not None
    # An interval that reached zero would promise an endless rate.
    assert mean_interval([0.001, 0.001, 9.0, 9.0]) is None


def test_a_straight_rise_is_a_trend() -> None:
    trend = drift([10 + 0.1 * step for step in range(10)])
    assert trend is not None
    assert isclose(trend.percent, 100 * 0.9 / 10.45)
    assert trend.p_value < 1e-6


def test_equal_times_have_no_trend() -> None:
    trend = drift([0.1] * 10)
    assert trend is not None
    assert trend.percent == pytest.approx(0, abs=1e-9)
    assert trend.p_value == 1.0


def test_one_slow_step_is_no_trend() -> None:
    trend = drift([10.0] * 9 + [14.0])
    assert trend is not None
    assert trend.p_value > 0.01


def test_the_p_value_is_the_t_test_of_the_slope() -> None:
    # y = 1 2 1 3 2: slope 0.3, residual sum of squares 1.9, standard error sqrt(1.9 / 3 / 10)
    trend = drift([1.0, 2.0, 1.0, 3.0, 2.0])
    assert trend is not None
    assert isclose(trend.percent, 100 * 1.2 / 1.8)
    t = 0.3 / (1.9 / 3 / 10) ** 0.5
    assert isclose(trend.p_value, 1 - student_t_within(t, 3))
    assert isclose(trend.p_value, 0.3189318, rel_tol=1e-6)  # the density integrated numerically


def test_two_steps_have_no_trend() -> None:
    assert drift([1.0, 2.0]) is None


def test_a_long_window_costs_little() -> None:
    times = [10 + (step * 7919 % 13) / 100 for step in range(20_000)]
    interval, trend = mean_interval(times), drift(times)
    assert interval is not None
    assert trend is not None
    assert interval[0] < mean(times) < interval[1]
    assert interval[1] - interval[0] < stdev(times)


def test_the_summary_is_of_these_times() -> None:
    summary = step_times([3.0, 1.0, 2.0, 4.0])
    assert (summary.mean, summary.median, summary.min, summary.max) == (2.5, 2.5, 1.0, 4.0)
    assert isclose(summary.p95, 3.85)
