"""Ending a run before its end: asked for by a signal, done to our own jobs only."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from openrecipes.targets.job import Job

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """Which signals have come in so far. A signal only sets this: nothing is torn down half-way."""

    def __init__(self) -> None:
        self.signals: list[int] = []

    def __bool__(self) -> bool:
        return bool(self.signals)

    @property
    def is_lost_terminal(self) -> bool:
        """Whether nothing was asked, and only the terminal went away."""
        return set(self.signals) == {signal.SIGHUP}

    def note(self, number: int, _frame: FrameType | None = None) -> None:
        """Takes one signal down."""
        self.signals.append(number)


@contextmanager
def stop_request() -> Iterator[StopRequest]:
    """Notes SIGINT, SIGTERM and SIGHUP while it is open, in place of what they did before."""
    request = StopRequest()
    before = {number: signal.signal(number, request.note) for number in _SIGNALS}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop(job: Job, request: StopRequest | None = None) -> None:
    """Ends a job: TERM to its script, which ends its own; all of it is killed after a bounded wait.

    A further signal in `request` cuts the wait short.
    """
    asked = len(request.signals) if request else 0
    job.ask_to_end()
    end = time.monotonic() + job.stop_s
    while job.state().phase != "ended" and time.monotonic() < end:
        if request and len(request.signals) > asked:
            break
        time.sleep(0.05)
    if job.state().phase != "ended":
        job.kill()
    job.clean_up()
