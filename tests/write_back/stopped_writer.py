"""A writer in a process of its own: stopped at a named point, or one of many that count in one file.

stopped_writer.py FILE NEW_TEXT_FILE STAGE kill|interrupt
stopped_writer.py FILE TIMES
"""

import fcntl
import os
import signal
import sys
from pathlib import Path
from typing import Any

from openrecipes.problems import ProblemsError
from openrecipes.write_back import replace_file as module

INTERRUPTED = 7


def stop(how: str) -> None:
    """End the process at once, or raise what Ctrl-C raises."""
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise KeyboardInterrupt


def stop_at(stage: str, how: str) -> None:
    """Make the writer stop at a stage instead of what it would do there."""
    flushed: list[int] = []
    really_flush = os.fsync

    def fsync(handle: int) -> None:
        flushed.append(handle)
        if stage == ("fsync" if len(flushed) == 1 else "fsync again"):
            stop(how)
        really_flush(handle)

    os.fsync = fsync
    owners: dict[str, Any] = {"flock": fcntl, "mkstemp": module.tempfile, "fdopen": os, "fchmod": os}
    owner = owners.get(stage, Path if stage in ("read_bytes", "replace") else None)
    if owner is not None:
        setattr(owner, stage, lambda *_, **__: stop(how))


def count(path: Path, times: int) -> None:
    """Add 1 to the number in the file until that was written so many times."""
    while times:
        text = path.read_text()
        try:
            module.replace_file(path, text, f"{int(text) + 1}\n")
        except ProblemsError as error:
            if [problem.rule for problem in error.problems] != ["write-changed-meanwhile"]:
                raise
        else:
            times -= 1


if __name__ == "__main__":
    if len(sys.argv) == 3:
        count(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        file, new = (Path(name).read_text() for name in sys.argv[1:3])
        stop_at(*sys.argv[3:5])
        try:
            module.replace_file(Path(sys.argv[1]), file, new)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
