"""A launched script that is a process of this machine: of the targets local and ssh."""

import os
import platform
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.record import Submission
from openrecipes.targets.job import JobState
from openrecipes.targets.own_processes import kill_own_processes


class ProcessJob:
    """The script by its process: our child, or one that an earlier harness started."""

    outlives_terminal: Final = False

    def __init__(self, run: RunDirectory, pid: int, *, stop_s: float, child: "subprocess.Popen[bytes] | None") -> None:
        self._run = run
        self.pid = pid
        self.stop_s = stop_s
        self._child = child

    @property
    def submission(self) -> Submission:
        """The process, by number and host."""
        return Submission(kind="process", id=str(self.pid), host=platform.node())

    @property
    def exit_status(self) -> int | None:
        """Of our child as the system has it; of another's as it recorded it."""
        if self._child is not None:
            return self._child.poll()
        job = self._run.job()
        return job.exit_status if job else None

    def state(self) -> JobState:
        """Running as long as its process is there."""
        if self._child is not None:
            is_there = self._child.poll() is None
        else:
            is_there = is_launched_script(self.pid, self._run.root)
        return JobState(phase="running" if is_there else "ended")

    def ask_to_end(self) -> None:
        """TERM to the script alone."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """KILL to the script and its group, then to what it started elsewhere."""
        if self.state().phase == "running":
            # Its own session, so its own group: nothing of ours or of anybody else is in it.
            os.killpg(self.pid, signal.SIGKILL)
        if self._child is not None:
            self._child.wait()
        kill_own_processes(self._run.root)

    def clean_up(self) -> None:
        """Nothing, unless the script was killed: then what it started is still there."""
        kill_own_processes(self._run.root)

    def wait(self, timeout_s: float) -> int | None:
        """The exit status, once it has ended. Raises: TimeoutError."""
        end = time.monotonic() + timeout_s
        while self.state().phase == "running":
            if time.monotonic() > end:
                raise TimeoutError(f"process {self.pid} has not ended after {timeout_s:g} s")
            time.sleep(0.02)
        return self.exit_status

    def _signal(self, number: int) -> None:
        if self.state().phase == "running":
            os.kill(self.pid, number)


def is_launched_script(pid: int, root: Path) -> bool:
    """Whether a process is the launched script of a run: numbers are given anew, command lines tell."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return os.fsencode(root) in words
