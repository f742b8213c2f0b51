"""Where a run's GPU-hours went: its record and its script's record, together with the log's own stamps."""

from math import fsum
from typing import Final

from openrecipes.logs.step import StepRecord
from openrecipes.runs.ledger import Ledger, Moments, ledger
from openrecipes.score.run_evidence import Run
from openrecipes.score.step_refusals import is_plausible
from openrecipes.score.window import ScoredWindow

# All time zones lie a multiple of so many seconds apart.
_ZONE_S: Final = 900.0


def job_ledger(run: Run, window: ScoredWindow | None, gpus: int) -> Ledger | None:
    """The ledger of one run; None for a bare log or a job without an end.

    The log's stamps are local time without its zone: they are moved by the whole quarters of an hour that bring
    them nearest to the job's own clock.
    """
    job = run.job
    if job is None or job.end_unix_s is None or job.end_unix_s <= job.start_unix_s:
        return None
    zone_s = _zone_s(run, job.start_unix_s, job.end_unix_s)

    def unix(stamp: float | None) -> float | None:
        return None if stamp is None or zone_s is None else stamp + zone_s

    by_number = {run.number(step): step for step in run.steps}
    first, last = by_number.get(0), run.steps[-1] if run.steps else None
    record = run.record
    # Only a scheduler has a queue; on this machine without a profile a job runs in no container either.
    was_queued = record is not None and record.target in ("slurm", "kubernetes")
    return ledger(
        Moments(
            prepared=record.created.timestamp() if record and was_queued else None,
            has_image=record is None or record.target != "local" or record.cluster is not None,
            start=job.start_unix_s,
            first_line=unix(run.first_stamp_s),
            loading=unix(run.notes.moments.get("loading")),
            loaded=unix(_began(first)) or unix(run.notes.moments.get("loaded")),
            first_step=unix(first.timestamp_s) if first else None,
            window_start=unix(_window_start(by_number, window)),
            window_end=unix(_stamp(by_number, window.last)) if window else None,
            last_step=unix(last.timestamp_s) if last else None,
            end=job.end_unix_s,
        ),
        gpus,
    )


def window_seconds(run: Run, window: ScoredWindow | None) -> tuple[float, float] | None:
    """Start and end of the window by the job's clock, in seconds since 1970 (UTC); None where nothing tells them."""
    job = run.job
    if job is None or job.end_unix_s is None or window is None:
        return None
    zone_s = _zone_s(run, job.start_unix_s, job.end_unix_s)
    by_number = {run.number(step): step for step in run.steps}
    start, end = _window_start(by_number, window), _stamp(by_number, window.last)
    return None if zone_s is None or start is None or end is None else (start + zone_s, end + zone_s)


def _zone_s(run: Run, start: float, end: float) -> float | None:
    """Seconds from the log's clock to the job's; None where the log has no stamps or they do not fit in."""
    first, last = run.first_stamp_s, run.last_stamp_s
    if first is None or last is None:
        return None
    zone_s = min(
        (round((end - last) / _ZONE_S), round((start - first) / _ZONE_S)), key=lambda n: _misfit(n, run, start, end)
    )
    fits = _misfit(zone_s, run, start, end) <= _ZONE_S
    return zone_s * _ZONE_S if fits else None


def _misfit(quarters: int, run: Run, start: float, end: float) -> float:
    """Seconds by which the log's stamps, so moved, reach out of the job."""
    first, last = (run.first_stamp_s or 0.0) + quarters * _ZONE_S, (run.last_stamp_s or 0.0) + quarters * _ZONE_S
    return max(0.0, start - first) + max(0.0, last - end)


def _began(step: StepRecord | None) -> float | None:
    if step is None or step.timestamp_s is None or step.step_time_s is None or not is_plausible(step.step_time_s):
        return None
    return step.timestamp_s - step.step_time_s


def _stamp(by_number: dict[int | None, StepRecord], number: int) -> float | None:
    step = by_number.get(number)
    return step.timestamp_s if step else None


def _window_start(by_number: dict[int | None, StepRecord], window: ScoredWindow | None) -> float | None:
    """The window's end less its step times: they are finer than the stamps."""
    if window is None:
        return None
    end = _stamp(by_number, window.last)
    steps = [by_number.get(number) for number in range(window.first, window.last + 1)]
    times = [
        step.step_time_s for step in steps if step and step.step_time_s is not None and is_plausible(step.step_time_s)
    ]
    return end - fsum(times) if end is not None and len(times) == window.steps else None
