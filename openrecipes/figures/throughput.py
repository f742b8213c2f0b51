"""Tokens a second a GPU, tokens in a window, and how far the step times spread."""

from collections.abc import Sequence
from math import ceil, fsum, isfinite, sqrt
from typing import Final

TOKEN_DEFINITION: Final = "row-tokens/1"  # noqa: S105  (a token of text)
"""Tokens are those of whole rows: supervised or not, padding within a row included."""


def window_tokens(first: int, last: int, global_batch: int, row_tokens: int) -> int:
    """Tokens of the scored steps: steps `first` to `last`, both counted, times rows a step times tokens a row.

    Raises: ValueError if the window is empty or starts below 0, or a size is not positive.
    """
    if first < 0 or last < first:
        raise ValueError(f"the window {first}..{last} holds no step")
    if global_batch <= 0 or row_tokens <= 0:
        raise ValueError(f"global_batch {global_batch} and row_tokens {row_tokens} must both be positive")
    return (last - first + 1) * global_batch * row_tokens


def tokens_per_s_per_gpu(window_tokens: int, sum_step_time_s: float, gpus: int) -> float:
    """Tokens of the window / sum of its step times / GPUs.

    Raises: ValueError if one of them is not positive and finite.
    """
    if window_tokens <= 0 or gpus <= 0:
        raise ValueError(f"{window_tokens} tokens on {gpus} GPUs: both must be positive")
    _positive(sum_step_time_s, "the sum of the step times")
    return window_tokens / sum_step_time_s / gpus


def step_time_of_rate(tokens_per_s_per_gpu: float, global_batch: int, row_tokens: int, gpus: int) -> float:
    """Mean step time in seconds behind a rate: tokens a step / GPUs / tokens a second a GPU.

    Raises: ValueError if one of them is not positive and finite.
    """
    tokens = window_tokens(0, 0, global_batch, row_tokens)
    if gpus <= 0:
        raise ValueError(f"{gpus} GPUs: must be positive")
    _positive(tokens_per_s_per_gpu, "the rate")
    return tokens / gpus / tokens_per_s_per_gpu


def mean(step_times_s: Sequence[float]) -> float:
    """Mean step time in seconds.

    Raises: ValueError if there is none, or one is not positive and finite.
    """
    _step_times(step_times_s, at_least=1)
    return fsum(step_times_s) / len(step_times_s)


def median(step_times_s: Sequence[float]) -> float:
    """Median step time in seconds: of an even count, the mean of the middle two.

    Raises: ValueError if there is none, or one is not positive and finite.
    """
    return _quantile(step_times_s, 0.5)


def p95(step_times_s: Sequence[float]) -> float:
    """95th percentile of the step times in seconds, linear between the two nearest.

    Raises: ValueError if there is none, or one is not positive and finite.
    """
    return _quantile(step_times_s, 0.95)


def step_time_cv_percent(step_times_s: Sequence[float]) -> float:
    """Coefficient of variation in percent: 100 x sample standard deviation (n - 1) / mean.

    Raises: ValueError with fewer than two steps, or if one is not positive and finite.
    """
    _step_times(step_times_s, at_least=2)
    middle = mean(step_times_s)
    squares = fsum((time - middle) ** 2 for time in step_times_s)
    return 100 * sqrt(squares / (len(step_times_s) - 1)) / middle


def _quantile(step_times_s: Sequence[float], fraction: float) -> float:
    _step_times(step_times_s, at_least=1)
    ordered = sorted(step_times_s)
    position = fraction * (len(ordered) - 1)
    below, above = ordered[int(position)], ordered[ceil(position)]
    return below + (above - below) * (position - int(position))


def _step_times(step_times_s: Sequence[float], *, at_least: int) -> None:
    if len(step_times_s) < at_least:
        raise ValueError(f"{len(step_times_s)} step times, but this figure needs {at_least} or more")
    for time in step_times_s:
        _positive(time, "a step time")


def _positive(value: float, name: str) -> None:
    if not (isfinite(value) and value > 0):
        raise ValueError(f"{name} is {value}, but must be positive and finite")
