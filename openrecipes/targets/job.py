"""A job that was started somewhere: how it stands, how it is ended, how it is found again."""

from dataclasses import dataclass
from typing import Literal, Protocol

from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.record import Submission

Phase = Literal["queued", "running", "ended"]


@dataclass(frozen=True, kw_only=True, slots=True)
class JobState:
    """Where a job stands; `words` are the scheduler's own, empty where there is none."""

    phase: Phase
    words: str = ""


class Submitted(Protocol):
    """A record of what was submitted, as far as it says how to find that again."""

    @property
    def name(self) -> str:
        """Name of its directory."""

    @property
    def target(self) -> str:
        """Kind of place it was submitted to."""

    @property
    def submission(self) -> Submission | None:
        """The job; None before it is submitted."""


class Book(Protocol):
    """Keeps the record of what is submitted true on disk, in its directory."""

    @property
    def run(self) -> RunDirectory:
        """The directory."""

    @property
    def record(self) -> Submitted:
        """The record as it stands."""

    def note(self, **changes: object) -> object:
        """Changes fields of the record, on disk too."""


class Job(Protocol):
    """A started job. It goes on whether or not anybody looks at it."""

    @property
    def submission(self) -> Submission:
        """How it is found again."""

    @property
    def stop_s(self) -> float:
        """Time that it may take to end once it was asked to."""

    @property
    def outlives_terminal(self) -> bool:
        """Whether a lost terminal leaves it alone: true where a scheduler holds it."""

    @property
    def exit_status(self) -> int | None:
        """Exit status of its script, where that can be known from here; the job's own record is what counts."""

    def state(self) -> JobState:
        """How it stands now. Asks a scheduler no more often than that can bear."""

    def ask_to_end(self) -> None:
        """TERM to its script, which ends what it started and records the end."""

    def kill(self) -> None:
        """Ends it at once, with everything that it started."""

    def clean_up(self) -> None:
        """Once it has ended: nothing of it is left here, its log is collected, its submission says how it ended."""
