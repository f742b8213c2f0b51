import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes import units
from openrecipes.catalog.gpus import gpu
from openrecipes.catalog.headlines import all_headlines
from openrecipes.catalog.models import model
from openrecipes.catalog.prices import default_price
from openrecipes.figures.cost import usd_per_million_tokens
from openrecipes.figures.gpu_hours import gpu_hours
from openrecipes.figures.mfu import mfu

rates = st.floats(min_value=1e-2, max_value=1e7)
prices = st.floats(min_value=1e-2, max_value=1e4)

# tokens/s/GPU, $ per 1M tokens and MFU as the three recipes for 128 H200 print them.
PUBLISHED = [(545.32, 4.03, 0.054), (506.73, 4.34, 0.0502), (469.19, 4.68, 0.0465)]


@pytest.mark.parametrize(("rate", "usd", "utilisation"), PUBLISHED)
def test_published_cost_and_mfu_follow_from_throughput(rate: float, usd: float, utilisation: float) -> None:
    price = default_price("AWS p5en.48xlarge")
    peak = gpu("H200").peak_flops_per_s
    assert price is not None
    assert peak is not None
    cost = usd_per_million_tokens(rate, price.usd_per_instance_hour, price.gpus_per_instance)
    assert units.usd_per_million_tokens(cost) == usd
    assert units.mfu(mfu(rate, model("Qwen3.5-397B-A17B").active_params, peak.value)) == utilisation


def test_headline_costs_follow_from_the_default_prices() -> None:
    checked = 0
    for headline in all_headlines():
        price = default_price(gpu(headline.gpu).instances[0].name)
        assert price is not None
        cost = usd_per_million_tokens(
            headline.tokens_per_s_per_gpu, price.usd_per_instance_hour, price.gpus_per_instance
        )
        assert units.usd_per_million_tokens(cost) == headline.usd_per_million_tokens
        checked += 1
    assert checked == 3


@given(rate=rates, price=prices, gpus=st.integers(1, 72))
def test_cost_rate_and_price_give_each_other(rate: float, price: float, gpus: int) -> None:
    usd = usd_per_million_tokens(rate, price, gpus)
    assert math.isclose(usd * rate * 3600 * gpus / 1e6, price, rel_tol=1e-9)
    assert math.isclose(price / gpus / 3600 / usd * 1e6, rate, rel_tol=1e-9)


@given(rate=rates, k=st.floats(min_value=0.01, max_value=100))
def test_twice_the_throughput_costs_half_and_uses_twice(rate: float, k: float) -> None:
    plain, faster = usd_per_million_tokens(rate, 60.0, 8), usd_per_million_tokens(k * rate, 60.0, 8)
    assert math.isclose(faster, plain / k, rel_tol=1e-9)
    assert math.isclose(mfu(k * rate, 10**9, 989e12), k * mfu(rate, 10**9, 989e12), rel_tol=1e-9)


def test_mfu_is_one_at_the_peak() -> None:
    assert mfu(1000.0, 10**9, 6e12) == 1.0


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_nonsense_is_refused(bad: float) -> None:
    for arguments in ((bad, 10**9, 1e12), (1.0, bad, 1e12), (1.0, 10**9, bad)):
        with pytest.raises(ValueError, match="positive"):
            mfu(*arguments)  # type: ignore[arg-type]
    for arguments in ((bad, 60.0, 8), (1.0, bad, 8), (1.0, 60.0, bad)):
        with pytest.raises(ValueError, match="positive"):
            usd_per_million_tokens(*arguments)  # type: ignore[arg-type]


@given(gpus=st.integers(1, 10_000), start=st.floats(0, 1e10), hours=st.floats(0, 1000))
def test_gpu_hours_are_gpus_times_hours(gpus: int, start: float, hours: float) -> None:
    assert math.isclose(gpu_hours(gpus, start, start + 3600 * hours), gpus * hours, rel_tol=1e-5, abs_tol=1e-2 * gpus)


def test_published_gpu_hours_are_plausible_times() -> None:
    # 38.04 GPU-hours on 128 GPUs are 17 min 50 s.
    assert units.gpu_hours(gpu_hours(128, 1000.0, 1000.0 + 1069.9)) == 38.04


def test_a_job_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(ValueError, match="ends before"):
        gpu_hours(8, 10.0, 9.0)
    with pytest.raises(ValueError, match="ends before"):
        gpu_hours(8, math.nan, 9.0)
    with pytest.raises(ValueError, match="0 GPUs"):
        gpu_hours(0, 1.0, 2.0)
