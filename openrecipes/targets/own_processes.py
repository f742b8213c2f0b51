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
    """Kills them and waits until they are gone; ids of those that are still there after `within_s`.

    One that is ending loses its environment first, and for seconds holds what it has of a GPU: those that were seen
    are watched until they end.
    """
    end = time.monotonic() + within_s
    seen: dict[int, str] = {}
    while True:
        for pid in own_processes(run_directory):
            seen.setdefault(pid, _born(pid) or "")
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        left = tuple(pid for pid, born in sorted(seen.items()) if born and _born(pid) == born)
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.05)


def _born(pid: int) -> str | None:
    """When a process started, in ticks since the system did; None of one that has ended, its parent told or not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *more = stat.rpartition(")")[2].split()  # a name before it may hold anything
    return None if state in ("Z", "X") else more[18]
