"""Staying with a job to its end, whatever that is, with its record kept true."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from openrecipes.targets.follow import Progress, follow
from openrecipes.targets.job import Book, Job
from openrecipes.targets.stop import stop, stop_request


class EndingBook(Book, Protocol):
    """A book that can record an end."""

    def ended(self, *, was_stopped: bool) -> object:
        """Records how the job ended, from what it left."""


def stay_with(
    book: EndingBook, job: Job, *, steps_wanted: int, progress: AbstractContextManager[Callable[[Progress], None]]
) -> None:
    """Nothing, once the job has ended and its record says how; `progress` shows each look at it.

    A scheduler's job whose terminal went away is left running, and so is its record.
    """
    was_stopped = True
    with progress as show, stop_request() as request:
        try:
            for look in follow(job, book.run, steps_wanted=steps_wanted, request=request):
                show(look)
                was_stopped = look.was_stopped
                if look.was_left:
                    return
        except BaseException:
            if not job.outlives_terminal:
                stop(job, request)
            raise
        finally:
            if job.state().phase == "ended":
                book.note(submission=job.submission)
                book.ended(was_stopped=was_stopped)
