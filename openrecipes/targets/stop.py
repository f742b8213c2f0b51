"""Ending a run before its end: asked for by a signal, done to our own processes only."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from openrecipes.runs.directory import RunDirectory
from openrecipes.targets.local import GRACE_S
from openrecipes.targets.own_processes import kill_own_processes

# The script needs its grace for the trainer, again for what the trainer left, and a little to record it.
WAIT_S = 3 * GRACE_S
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """Which signals have come in so far. A signal only sets this: nothing is torn down half-way."""

    def __init__(self) -> None:
        self.signals: list[int] = []

    def __bool__(self) -> bool:
        return bool(self.signals)

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


def stop(script: "subprocess.Popen[bytes]", run: RunDirectory, request: StopRequest | None = None) -> None:
    """Ends a run: TERM to its script, which ends its own; KILL to all of them after a bounded wait.

    A further signal in `request` cuts the wait short.
    """
    asked = len(request.signals) if request else 0
    if script.poll() is None:
        script.send_signal(signal.SIGTERM)
    end = time.monotonic() + WAIT_S
    while script.poll() is None and time.monotonic() < end:
        if request and len(request.signals) > asked:
            break
        time.sleep(0.05)
    if script.poll() is None:
        # Its own session, so its own group: nothing of ours or of anybody else is in it.
        os.killpg(script.pid, signal.SIGKILL)
        script.wait()
    kill_own_processes(run.root)
