"""What a run's GPUs did while its window was scored: clocks, power, temperature, how much they were throttled."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from openrecipes.runs.telemetry import Telemetry, telemetry
from openrecipes.score.job_ledger import window_seconds
from openrecipes.score.run_evidence import Run
from openrecipes.score.window import ScoredWindow


@dataclass(frozen=True, kw_only=True, slots=True)
class RunTelemetry:
    """The readings within `interval`: the scored window, or the whole job where nothing tells the window's time."""

    interval: Literal["window", "job"]
    readings: Telemetry

    def document(self) -> dict[str, Any]:
        """The same as plain data, for JSON."""
        return {"interval": self.interval, **self.readings.document()}


def run_telemetry(run: Run, window: ScoredWindow | None) -> RunTelemetry | None:
    """The telemetry of a run directory; None for a bare log, a job without an end, and a run that was not sampled.

    It informs and decides nothing: whatever its files hold, a score stands.
    """
    job, folder = run.job, Path(run.name) / "telemetry"
    if run.record is None or job is None or job.end_unix_s is None or not folder.is_dir():
        return None
    within = window_seconds(run, window)
    start, end = within or (job.start_unix_s, job.end_unix_s)
    return RunTelemetry(interval="window" if within else "job", readings=telemetry(folder, start, end))
