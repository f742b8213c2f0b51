"""GPU-hours of a job."""

from math import isfinite


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
