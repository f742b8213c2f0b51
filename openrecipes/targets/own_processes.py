"""The processes of one run, found by the variable that the launched script gives to all it starts.

A process may have left its session and lost its parent; the variable stays. Only for when the script itself
can no longer end what it started: else that is the script's.
"""

import os
import signal
import time
from pathlib import Path

VARIABLE = "OPENRECIPES_RUN_DIR"


def own_processes(run_directory: Path) -> tuple[int, ...]:
    """Ids of the live processes of a run on this machine; none where there is no /proc."""
    mark = f"{VARIABLE}={run_directory}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # ended meanwhile, or another user's
        if mark in environment:
            found.append(int(entry.name))
    return tuple(sorted(found))


def kill_own_processes(run_directory: Path, *, within_s: float = 10) -> tuple[int, ...]:
    """Kills them; ids of those that are still there after `within_s`."""
    end = time.monotonic() + within_s
    while left := own_processes(run_directory):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if time.monotonic() > end:
            break
        time.sleep(0.05)
    return left
