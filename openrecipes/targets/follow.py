"""What a run does, from its first second to its end, read from the files that it writes."""

import statistics
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from openrecipes.logs.follow import LogFollower
from openrecipes.logs.step import StepRecord
from openrecipes.runs.directory import RunDirectory
from openrecipes.targets.own_processes import kill_own_processes
from openrecipes.targets.stop import StopRequest, stop

Stage = Literal["starting", "loading", "training", "ended"]
_PIECE_BYTES = 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """Where a run stands. `steps` are those that came since the last look; `left_s` is an estimate.

    `last` is the newest step of all.
    """

    stage: Stage
    elapsed_s: float
    steps: tuple[StepRecord, ...]
    steps_done: int
    steps_wanted: int
    left_s: float | None
    last: StepRecord | None = None
    exit_status: int | None = None
    was_stopped: bool = False


def follow(
    script: "subprocess.Popen[bytes]",
    run: RunDirectory,
    *,
    steps_wanted: int,
    request: StopRequest,
    poll_s: float = 0.2,
) -> Iterator[Progress]:
    """Where the run stands, several times a second; the last one has the stage `ended`.

    A signal in `request` ends the run: then the last one says that it was stopped.
    """
    watch = _Watch(run=run, steps_wanted=steps_wanted)
    while True:
        status = script.poll()
        if status is None and request:
            stop(script, run, request)
            yield watch.ended(script.returncode, was_stopped=True)
            return
        if status is not None:
            # Nothing, unless the script was killed: then what it started is still there.
            kill_own_processes(run.root)
            yield watch.ended(status, was_stopped=False)
            return
        yield watch.look()
        time.sleep(poll_s)


class _Watch:
    """The growing log, and the step times seen in it."""

    def __init__(self, *, run: RunDirectory, steps_wanted: int) -> None:
        self._run = run
        self._wanted = steps_wanted
        self._follower = LogFollower(file=str(run.log))
        self._offset = 0
        self._times_s: list[float] = []
        self._done = 0
        self._last: StepRecord | None = None
        self._started = time.monotonic()

    def look(self) -> Progress:
        """Where it stands now."""
        steps = tuple(self._fresh())
        return self._progress(self._stage(), steps)

    def ended(self, exit_status: int | None, *, was_stopped: bool) -> Progress:
        """The last one: everything that is left in the log."""
        steps = (*self._fresh(), *self._counted(self._follower.close()))
        return self._progress("ended", steps, exit_status=exit_status, was_stopped=was_stopped)

    def _fresh(self) -> Iterator[StepRecord]:
        with self._run.log.open("rb") as log:
            log.seek(self._offset)
            while piece := log.read(_PIECE_BYTES):
                self._offset += len(piece)
                yield from self._counted(self._follower.feed(piece))

    def _counted(self, steps: list[StepRecord]) -> list[StepRecord]:
        self._done += len(steps)
        self._last = steps[-1] if steps else self._last
        self._times_s.extend(step.step_time_s for step in steps if step.step_time_s is not None)
        return steps

    def _stage(self) -> Stage:
        if self._done:
            return "training"
        # The capture is the script's first act; once it is written, the trainer loads.
        return "loading" if self._run.environment.exists() else "starting"

    def _left_s(self) -> float | None:
        """The median step so far, times the steps to come; the first step is not typical."""
        times = self._times_s[1:] or self._times_s
        return statistics.median(times) * max(0, self._wanted - self._done) if times else None

    def _progress(
        self,
        stage: Stage,
        steps: tuple[StepRecord, ...],
        *,
        exit_status: int | None = None,
        was_stopped: bool = False,
    ) -> Progress:
        return Progress(
            stage=stage,
            elapsed_s=time.monotonic() - self._started,
            steps=steps,
            steps_done=self._done,
            steps_wanted=self._wanted,
            left_s=self._left_s(),
            last=self._last,
            exit_status=exit_status,
            was_stopped=was_stopped,
        )
