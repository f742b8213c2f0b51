"""A job of Slurm's: submitted once, asked for its state, ended, and found again by its id or its name."""

import re
import time
from typing import Final

from openrecipes.problems import OutsideError
from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.record import Submission
from openrecipes.targets.job import JobState
from openrecipes.targets.slurm_commands import (
    accounted_command,
    ask_command,
    cancel_command,
    ended_command,
    named_command,
    ran,
    state_command,
)

# Nobody needs to know more often, and a controller has thousands of jobs.
_ASK_S: Final = 2.0
# A network file system may show a file's end only after some seconds.
_FILES_S: Final = 15.0
_QUEUED: Final = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "SUSPENDED", "RESV_DEL_HOLD")
_GOING: Final = ("RUNNING", "COMPLETING", "SIGNALING", "STAGE_OUT", "STOPPED")


class SlurmJob:
    """One job, by its id."""

    stop_s: Final = 90.0
    outlives_terminal: Final = True
    exit_status: Final = None

    def __init__(self, run: RunDirectory, submission: Submission) -> None:
        self._run = run
        self._submission = submission
        self._asked = float("-inf")
        self._state = JobState(phase="queued", words="submitted")
        self._gone: float | None = None

    @property
    def submission(self) -> Submission:
        """Its id and name, and how it ended once that is known."""
        return self._submission

    def state(self) -> JobState:
        """As squeue has it; ended once squeue does not know it and its files are complete or do not come."""
        now = time.monotonic()
        if self._state.phase == "ended" or now - self._asked < _ASK_S:
            return self._state
        self._asked = now
        try:
            line = ran(state_command(self._id)).strip()
        except OutsideError as error:
            # One that has ended is an unknown id to squeue, after a while.
            line = "" if "Invalid job id" in str(error) else "?"
            if line:
                self._state = JobState(phase=self._state.phase, words="slurmctld does not answer")
                return self._state
        self._state = self._read(line, now)
        return self._state

    def ask_to_end(self) -> None:
        """TERM to a running batch script; a queued job is simply cancelled."""
        _try(ask_command(self._id) if self.state().phase == "running" else cancel_command(self._id))
        self._asked = float("-inf")

    def kill(self) -> None:
        """Cancels the job; Slurm kills what is left of it after its own wait."""
        _try(cancel_command(self._id))
        end = time.monotonic() + self.stop_s
        while self.state().phase != "ended" and time.monotonic() < end:
            time.sleep(0.5)

    def clean_up(self) -> None:
        """Takes down how Slurm says that it ended."""
        if self._submission.ended_as is None:
            self._submission = self._submission.model_copy(update={"ended_as": _ended_as(self._id)})

    @property
    def _id(self) -> str:
        if self._submission.id is None:
            raise ValueError("a job without an id is found by its name first")
        return self._submission.id

    def _read(self, line: str, now: float) -> JobState:
        if line:
            state, reason, start, nodes = (line.splitlines()[0].split("|") + [""] * 4)[:4]
            if state in _QUEUED:
                self._gone = None
                return JobState(phase="queued", words=_queued_words(self._id, state, reason, start))
            if state in _GOING:
                self._gone = None
                return JobState(phase="running", words=f"job {self._id} on {nodes}")
        # Known no more, or known as ended: then its record is the last thing to wait for.
        self._gone = now if self._gone is None else self._gone
        job = self._run.job()
        is_complete = job is not None and job.has_ended
        never_started = job is None and now - self._gone > _ASK_S
        if is_complete or never_started or now - self._gone > _FILES_S:
            return JobState(phase="ended")
        return JobState(phase="running", words=f"job {self._id} has ended; waiting for its files")


def found_by_name(submission: Submission, run: RunDirectory) -> Submission | None:
    """The submission with the id of the job that has its name and its directory; None where Slurm knows none.

    Raises: OutsideError where Slurm does not answer.
    """
    job = run.job()
    if job is not None and job.scheduler_id is not None:
        return submission.model_copy(update={"id": job.scheduler_id})
    for line in ran(named_command(submission.name or "")).splitlines():
        number, _, folder = line.strip().partition("|")
        if folder == str(run.root):
            return submission.model_copy(update={"id": number})
    return None


def _queued_words(job_id: str, state: str, reason: str, start: str) -> str:
    expected = "" if start in ("", "N/A", "Unknown") else f", expected to start {start}"
    why = "" if reason in ("", "None", state) else f": {reason}"
    return f"job {job_id} {state.lower()}{why}{expected}"


def _ended_as(job_id: str) -> str | None:
    """COMPLETED, FAILED, TIMEOUT, NODE_FAIL, CANCELLED …; None where Slurm has forgotten it and keeps no accounts."""
    try:
        found = re.search(r"\bJobState=([A-Z_]+)", ran(ended_command(job_id)))
        if found:
            return found[1]
    except OutsideError:
        pass
    try:
        words = ran(accounted_command(job_id)).split()
    except OutsideError:
        return None
    return words[0] if words and re.fullmatch(r"[A-Z_]+", words[0]) else None


def _try(command: tuple[str, ...]) -> None:
    """Runs a command whose failure changes nothing: the job may have ended meanwhile."""
    try:
        ran(command)
    except OutsideError:
        return
