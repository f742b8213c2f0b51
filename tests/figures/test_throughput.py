import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes import units
from openrecipes.figures import throughput
from openrecipes.figures.throughput import (
    step_time_cv_percent,
    step_time_of_rate,
    tokens_per_s_per_gpu,
    window_tokens,
)

step_times = st.lists(st.floats(min_value=0.01, max_value=1e4), min_size=2, max_size=50)
counts = st.integers(min_value=1, max_value=10_000)


@pytest.mark.parametrize(("window", "published"), [((4, 13), 10_485_760), ((5, 19), 15_728_640)])
def test_window_tokens_of_the_published_recipes(window: tuple[int, int], published: int) -> None:
    assert window_tokens(*window, global_batch=128, row_tokens=8192) == published


@given(first=st.integers(0, 1000), length=st.integers(1, 1000), batch=counts, row_tokens=counts)
def test_window_tokens_count_both_ends(first: int, length: int, batch: int, row_tokens: int) -> None:
    assert window_tokens(first, first + length - 1, batch, row_tokens) == length * batch * row_tokens


def test_published_throughput_follows_from_a_step_time() -> None:
    # 128 rows of 8,192 tokens on 128 GPUs at 545.32 tokens/s/GPU take 15.022 s.
    assert units.tokens_per_s_per_gpu(tokens_per_s_per_gpu(10_485_760, 150.2237, 128)) == 545.32


@given(batch=counts, row_tokens=counts, time=st.floats(min_value=0.01, max_value=1e4), gpus=counts)
def test_a_rate_gives_back_its_step_time(batch: int, row_tokens: int, time: float, gpus: int) -> None:
    rate = tokens_per_s_per_gpu(batch * row_tokens, time, gpus)
    assert math.isclose(step_time_of_rate(rate, batch, row_tokens, gpus), time, rel_tol=1e-12)


@pytest.mark.parametrize("wrong", [(0.0, 1, 1, 1), (1.0, 0, 1, 1), (1.0, 1, 1, 0), (math.inf, 1, 1, 1)])
def test_no_step_time_follows_from_what_is_no_rate(wrong: tuple[float, int, int, int]) -> None:
    with pytest.raises(ValueError, match="must"):
        step_time_of_rate(*wrong)


@given(times=step_times, tokens=counts, gpus=counts, k=st.floats(min_value=0.01, max_value=100))
def test_scaling_step_times_divides_throughput(times: list[float], tokens: int, gpus: int, k: float) -> None:
    plain = tokens_per_s_per_gpu(tokens, sum(times), gpus)
    scaled = tokens_per_s_per_gpu(tokens, sum(k * time for time in times), gpus)
    assert math.isclose(scaled, plain / k, rel_tol=1e-9)


@given(times=step_times, k=st.floats(min_value=0.1, max_value=100))
def test_spread_does_not_depend_on_scale_or_order(times: list[float], k: float) -> None:
    plain = step_time_cv_percent(times)
    assert math.isclose(step_time_cv_percent([k * time for time in times]), plain, rel_tol=1e-6, abs_tol=1e-9)
    assert math.isclose(step_time_cv_percent(times[::-1]), plain, rel_tol=1e-9, abs_tol=1e-12)


@given(times=step_times)
def test_spread_is_the_sample_standard_deviation(times: list[float]) -> None:
    expected = 100 * statistics.stdev(times) / statistics.fmean(times)
    assert math.isclose(step_time_cv_percent(times), expected, rel_tol=1e-6, abs_tol=1e-9)


@given(times=step_times)
def test_mean_median_and_p95_lie_within_the_times(times: list[float]) -> None:
    slack = 1e-9 * max(times)
    for figure in (throughput.mean, throughput.median, throughput.p95):
        assert min(times) - slack <= figure(times) <= max(times) + slack
    assert math.isclose(throughput.median(times), statistics.median(times), rel_tol=1e-12)
    assert throughput.median(times) <= throughput.p95(times) + slack


def test_p95_is_linear_between_neighbours() -> None:
    assert throughput.p95([float(i) for i in range(1, 22)]) == 20.0
    assert throughput.p95([1.0, 2.0]) == pytest.approx(1.95)
    assert throughput.p95([3.0]) == 3.0


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_nonsense_step_times_are_refused(bad: float) -> None:
    for figure in (throughput.mean, throughput.median, throughput.p95, step_time_cv_percent):
        with pytest.raises(ValueError, match="step time"):
            figure([1.0, bad, 2.0])
    with pytest.raises(ValueError, match="step times"):
        tokens_per_s_per_gpu(1, bad, 1)


@pytest.mark.parametrize(("tokens", "gpus"), [(0, 8), (8, 0), (-1, 8)])
def test_throughput_needs_tokens_and_gpus(tokens: int, gpus: int) -> None:
    with pytest.raises(ValueError, match="positive"):
        tokens_per_s_per_gpu(tokens, 1.0, gpus)


def test_too_few_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="needs 2"):
        step_time_cv_percent([1.0])
    with pytest.raises(ValueError, match="needs 1"):
        throughput.mean([])


@pytest.mark.parametrize("window", [(-1, 3), (4, 3)])
def test_an_empty_window_is_refused(window: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="holds no step"):
        window_tokens(*window, global_batch=1, row_tokens=1)
    with pytest.raises(ValueError, match="positive"):
        window_tokens(0, 1, global_batch=0, row_tokens=1)
