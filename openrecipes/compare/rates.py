"""A rate with its standard error, and what two of them say about their ratio.

rate_of_times(rate, times)      from a run's own step times
rate_of_result(result)          from what a recipe publishes: its interval, else its CV
ratio_interval(base, other)     -> 95 % interval of other / base
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, sqrt
from typing import Final

from openrecipes import units
from openrecipes.figures.throughput import mean, step_time_cv_percent
from openrecipes.recipe.result import Result
from openrecipes.score.spread import (
    CONFIDENCE,
    FEWEST_FOR_INTERVAL,
    block_degrees,
    mean_error,
    student_t_quantile,
)

INTERVAL_METHOD: Final = "log-ratio-t/1"
# A published rate has two decimals: it may lie half a hundredth off, anywhere within equally likely.
_ROUNDING: Final = 0.005 / sqrt(3)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """Tokens/s/GPU, its standard error as a fraction of it (None where nothing tells the spread), and from what."""

    tokens_per_s_per_gpu: float
    relative_error: float | None
    degrees: int
    basis: str


def rate_of_times(tokens_per_s_per_gpu: float, times_s: Sequence[float]) -> Rate:
    """The rate of a window by its step times: the mean's error by the block method of the score.

    Under 4 steps their plain deviation over sqrt(n); with one, no error is known.
    """
    steps, found = len(times_s), mean_error(times_s)
    if found is not None:
        error: float | None = found.error_s / mean(times_s)
        return Rate(
            tokens_per_s_per_gpu=tokens_per_s_per_gpu,
            relative_error=error,
            degrees=found.degrees,
            basis=f"{steps} step times",
        )
    error = step_time_cv_percent(times_s) / 100 / sqrt(steps) if steps > 1 else None
    return Rate(
        tokens_per_s_per_gpu=tokens_per_s_per_gpu,
        relative_error=error,
        degrees=max(1, steps - 1),
        basis=f"{steps} step times",
    )


def rate_of_result(result: Result) -> Rate | None:
    """The published rate; None in a draft.

    Its error follows from the published interval (between runs where there were several), else from
    the CV of the step times over sqrt(steps), as if the steps were independent.
    """
    rate = result.tokens_per_s_per_gpu
    if rate is None:
        return None
    steps, runs = result.window[1] - result.window[0] + 1, result.runs or 1
    rounding = _ROUNDING / rate
    if result.confidence_interval is not None and (runs > 1 or steps >= FEWEST_FOR_INTERVAL):
        low, high = result.confidence_interval
        degrees = runs - 1 if runs > 1 else block_degrees(steps)
        error = (high - low) / 2 / student_t_quantile(CONFIDENCE, degrees) / rate
        return Rate(
            tokens_per_s_per_gpu=rate,
            relative_error=sqrt(error**2 + rounding**2),
            degrees=degrees,
            basis=f"published interval of {runs} runs" if runs > 1 else "published interval",
        )
    if result.step_time_cv_percent is None or steps < 2:
        return Rate(tokens_per_s_per_gpu=rate, relative_error=None, degrees=1, basis="no published spread")
    error = result.step_time_cv_percent / 100 / sqrt(steps)
    return Rate(
        tokens_per_s_per_gpu=rate,
        relative_error=sqrt(error**2 + rounding**2),
        degrees=steps - 1,
        basis=f"published CV over {units.counted(steps, 'step')}",
    )


def ratio_interval(base: Rate, other: Rate) -> tuple[float, float] | None:
    """95 % interval of the ratio other / base; None where either spread is not known.

    Method `log-ratio-t/1`: on the logarithm, so that both ends are positive; the relative errors add in squares,
    Student's t with the degrees of freedom of Welch and Satterthwaite.
    """
    one, two = base.relative_error, other.relative_error
    if one is None or two is None:
        return None
    ratio, error = other.tokens_per_s_per_gpu / base.tokens_per_s_per_gpu, sqrt(one**2 + two**2)
    if error == 0:
        return ratio, ratio
    # As shares of the whole: tiny errors to the fourth power would vanish.
    shares = (one / error) ** 4 / base.degrees + (two / error) ** 4 / other.degrees
    half = student_t_quantile(CONFIDENCE, max(1, int(1 / shares + 1e-9))) * error
    half = min(half, 700.0)  # exp() of more is no float; so wide an interval says nothing anyway
    return ratio * exp(-half), ratio * exp(half)
