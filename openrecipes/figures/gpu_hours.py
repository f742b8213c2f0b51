"""GPU-hours of a job."""

from math import isfinite
from typing import Final

# The words of a gpu_hours_note by which it is this definition and no other.
NOTE_SAYS: Final = "job start to end"


def gpu_hours(gpus: int, start_unix_s: float, end_unix_s: float) -> float:
    """GPUs x (job end - job start) in hours; start-up and shut-down are included.

    Times are seconds since the epoch, both from one clock.
    Raises: ValueError if the job ends before it starts or has no GPU.
    """
    if gpus <= 0:
        raise ValueError(f"{gpus} GPUs")
    if not (isfinite(start_unix_s) and isfinite(end_unix_s)) or end_unix_s < start_unix_s:
        raise ValueError(f"a job from {start_unix_s} to {end_unix_s} ends before it starts")
    return gpus * (end_unix_s - start_unix_s) / 3600


def window_gpu_hours(window_tokens: int, tokens_per_s_per_gpu: float) -> float:
    """GPU-hours that the scored steps alone took: window tokens / tokens/s/GPU / 3600. A run's gpu_hours exceeds it.

    Raises: ValueError if one of them is not positive and finite.
    """
    if not (isfinite(tokens_per_s_per_gpu) and tokens_per_s_per_gpu > 0 and window_tokens > 0):
        raise ValueError(f"{window_tokens} tokens at {tokens_per_s_per_gpu} tokens/s/GPU: both must be positive")
    return window_tokens / tokens_per_s_per_gpu / 3600
