"""What a run does, from its first second to its end, read from the files that it writes."""

import statistics
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from openrecipes.logs.step import StepRecord
from openrecipes.runs.directory import RunDirectory
from openrecipes.targets.job import Job, JobState
from openrecipes.targets.launch_log import LaunchLog
from openrecipes.targets.stop import StopRequest, stop

Stage = Literal["queued", "starting", "preflight", "joining", "loading", "training", "ended"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """Where a run stands. `steps` are those that came since the last look; `left_s` is an estimate.

    `last` is the newest step of all; `detail` is what a scheduler or a script says of the stage. `elapsed_s` counts
    from the job's start, and while it is queued from when we began to look. `was_left` says that the job goes on
    and nobody follows it any more.
    """

    stage: Stage
    elapsed_s: float
    steps: tuple[StepRecord, ...]
    steps_done: int
    steps_wanted: int
    left_s: float | None
    detail: str = ""
    last: StepRecord | None = None
    exit_status: int | None = None
    was_stopped: bool = False
    was_left: bool = False


def follow(
    job: Job,
    run: RunDirectory,
    *,
    steps_wanted: int,
    request: StopRequest,
    poll_s: float = 0.2,
) -> Iterator[Progress]:
    """Where the run stands, several times a second; the last one has the stage `ended`.

    A signal in `request` ends the run: then the last one says that it was stopped. Only a terminal that went away
    leaves a scheduler's job running: then the last one says that it was left.
    """
    watch = _Watch(run=run, steps_wanted=steps_wanted)
    while True:
        state = job.state()
        if state.phase == "ended":
            job.clean_up()
            yield watch.ended(job.exit_status)
            return
        if request and request.is_lost_terminal and job.outlives_terminal:
            yield watch.look(state, was_left=True)
            return
        if request:
            stop(job, request)
            yield watch.ended(job.exit_status, was_stopped=True)
            return
        yield watch.look(state)
        time.sleep(poll_s)


class _Watch:
    """The growing log, and the step times seen in it."""

    def __init__(self, *, run: RunDirectory, steps_wanted: int) -> None:
        self._run = run
        self._wanted = steps_wanted
        self._log = LaunchLog(run.log)
        self._forget()
        self._began = time.monotonic()
        self._job_start: float | None = None

    def _forget(self) -> None:
        self._times_s: list[float] = []
        self._done = 0
        self._last: StepRecord | None = None

    def look(self, state: JobState, *, was_left: bool = False) -> Progress:
        """Where it stands now."""
        steps = self._counted(self._log.fresh())
        if state.phase == "queued":
            return self._progress("queued", steps, detail=state.words, was_left=was_left)
        return self._progress(self._stage(), steps, detail=self._log.detail or state.words, was_left=was_left)

    def ended(self, exit_status: int | None, *, was_stopped: bool = False) -> Progress:
        """The last one: everything that is left in the log."""
        steps = (*self._counted(self._log.fresh()), *self._counted(self._log.rest()))
        detail = self._log.cause or ""
        return self._progress("ended", steps, detail=detail, exit_status=exit_status, was_stopped=was_stopped)

    def _counted(self, fresh: Iterable[StepRecord]) -> tuple[StepRecord, ...]:
        steps = tuple(fresh)
        if self._log.is_new:
            self._log.is_new = False
            self._forget()
        self._done += len(steps)
        self._last = steps[-1] if steps else self._last
        self._times_s.extend(step.step_time_s for step in steps if step.step_time_s is not None)
        return steps

    def _stage(self) -> Stage:
        if self._done:
            return "training"
        match self._log.stage:
            case "preflight" | "joining" | "loading" as stage:
                return stage
        return "starting"

    def _left_s(self) -> float | None:
        """The median step so far, times the steps to come; the first step is not typical."""
        times = self._times_s[1:] or self._times_s
        return statistics.median(times) * max(0, self._wanted - self._done) if times else None

    def _elapsed_s(self) -> float:
        if self._job_start is None and (job := self._run.job()) is not None:
            self._job_start = job.start_unix_s
        if self._job_start is None:
            return time.monotonic() - self._began
        return max(0.0, time.time() - self._job_start)

    def _progress(
        self,
        stage: Stage,
        steps: tuple[StepRecord, ...],
        *,
        detail: str = "",
        exit_status: int | None = None,
        was_stopped: bool = False,
        was_left: bool = False,
    ) -> Progress:
        return Progress(
            stage=stage,
            elapsed_s=self._elapsed_s(),
            steps=steps,
            steps_done=self._done,
            steps_wanted=self._wanted,
            left_s=self._left_s(),
            detail=detail,
            last=self._last,
            exit_status=exit_status,
            was_stopped=was_stopped,
            was_left=was_left,
        )
