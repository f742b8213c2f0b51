"""The folder that a checkpoint is written into, NAME.partial: one preparation's at a time, taken over when that died.

Beside prepare_checkpoint.py. The standard library only, Python 3.10 or newer. On a file system that several machines
see, a lock of the kernel's may hold on none of them: here mkdir and exclusive creation decide who is first, and a
file that is touched every few seconds says that its owner lives.
"""

import json
import math
import os
import re
import secrets
import shutil
import socket
import time
from pathlib import Path
from typing import Any

from checkpoint_folder import TRACKER, RefusedError, document, duration, flaw, replace_text

OWNER = ".openrecipes-preparation.json"
TAKING = ".openrecipes-taking"
# An owner that has given no sign for so long, as the file system's own clock counts, is dead.
FRESH_S = 120.0
# What a preparation writes into the folder: the converter's two names, its tracker, and files that name us.
OURS = re.compile(rf"iter_\d{{7}}|release|{re.escape(TRACKER)}|\.{{0,2}}openrecipes-.*")


def partial_of(folder: Path) -> Path:
    """The folder that is written into."""
    return folder.with_name(f"{folder.name}.partial")


def own_identity(pid: int) -> "dict[str, Any]":
    """A process as it is told from any other: a number alone is given anew, and means nothing in another container."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return {"boot": boot, "space": str(Path("/proc/self/ns/pid").readlink()), "pid": pid, "started": started(pid)}


def started(pid: int) -> "str | None":
    """When a process started, in the kernel's own count; None where there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()[19]


def age_s(path: Path) -> float:
    """Seconds since a file was touched, by the clock of its own file system. Raises: OSError."""
    probe = path.parent / f".openrecipes-clock-{secrets.token_hex(8)}"
    probe.touch()
    try:
        return probe.stat().st_mtime - path.stat().st_mtime
    finally:
        probe.unlink()


def is_alive(owner: "dict[str, Any]", partial: Path) -> bool:
    """Whether a preparation still goes on: asked of the kernel on the same machine, else seen by a sign of it.

    Of one that gives none, it takes two minutes since its last to say so.
    """
    if is_of_here(owner):
        process = owner["process"]
        return process.get("started") is not None and started(int(process["pid"])) == process["started"]
    try:
        touched, silent = (partial / OWNER).stat().st_mtime_ns, age_s(partial / OWNER)
        if silent < FRESH_S:
            print(
                f"openrecipes: progress waits up to {duration(FRESH_S - silent)} for a sign of the preparation on "
                f"{owner.get('host')} that wrote {partial} last",
                flush=True,
            )
        for _ in range(math.ceil(FRESH_S - silent)):
            time.sleep(1)
            if (partial / OWNER).stat().st_mtime_ns != touched:
                return True
    except FileNotFoundError:
        return True  # changed this moment
    return False


def is_of_here(owner: "dict[str, Any]") -> bool:
    """Whether an owner's process could be seen from here."""
    process, here = owner.get("process"), own_identity(os.getpid())
    return isinstance(process, dict) and (process.get("boot"), process.get("space")) == (here["boot"], here["space"])


def claim(folder: Path, owner: "dict[str, Any]", weight_bytes: int) -> bool:
    """Makes NAME.partial ours; whether an earlier preparation left a whole checkpoint in it.

    What it left half-written is removed, and nothing else. Raises: RefusedError where another preparation goes on, or
    where the folder holds what no preparation wrote; OSError where it cannot be made.
    """
    partial = partial_of(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        partial.mkdir()
    except FileExistsError:
        before = taken_over(partial, owner)
    else:
        replace_text(partial / OWNER, json.dumps(owner))
        return False
    if flaw(partial, weight_bytes) is None and before.get("manifest") == owner["manifest"]:
        return True
    discard(partial)
    return False


def taken_over(partial: Path, owner: "dict[str, Any]") -> "dict[str, Any]":
    """Makes a dead preparation's folder ours, and says whose it was. Of several that try, one does."""
    before = document(partial / OWNER)
    process = before.get("process") if isinstance(before, dict) else None
    if not isinstance(process, dict) or not isinstance(process.get("boot"), str):
        raise foreign(partial)
    if is_alive(before, partial):
        raise going(partial, before)
    mark = partial / TAKING
    if mark.exists() and age_s(mark) >= FRESH_S:
        mark.unlink(missing_ok=True)  # who made it has died too
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    except FileExistsError:
        raise going(partial, before) from None
    try:
        if document(partial / OWNER) != before:
            raise going(partial, document(partial / OWNER) or before)
        replace_text(partial / OWNER, json.dumps(owner))
    finally:
        mark.unlink(missing_ok=True)
    return before


def foreign(partial: Path) -> RefusedError:
    """The refusal of a folder that has no owner's file, or not yet."""
    if partial.is_dir() and age_s(partial) < 10:
        what = f"another preparation has just begun to write {partial}"
        return RefusedError("checkpoint-going", what, "wait for it, and look again")
    what = f"{partial} exists, and is no preparation's that can be taken up again"
    return RefusedError("checkpoint-partial", what, "remove it if nobody needs it, or name another folder")


def going(partial: Path, owner: "dict[str, Any]") -> RefusedError:
    """The refusal of a second preparation, naming the first."""
    since = owner.get("unix_s")
    ago = f", for {duration(max(0.0, time.time() - since))}" if isinstance(since, int | float) else ""
    job = f", its files in {owner['job']}" if owner.get("job") else ""
    what = f"another preparation writes {partial}: on {owner.get('host')}{job}{ago}"
    return RefusedError("checkpoint-going", what, "wait for it, or end it and start again")


def discard(partial: Path) -> None:
    """Removes what a converter left. Raises: RefusedError, and removes nothing, where anything else lies there."""
    left = [path for path in partial.iterdir() if path.name not in (OWNER, TAKING)]
    for path in left:
        if not OURS.fullmatch(path.name) or path.is_symlink():
            what = f"{partial} holds {path.name}, which no preparation wrote"
            raise RefusedError("checkpoint-partial", what, "move it away, and start again")
    for path in left:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def release(folder: Path) -> None:
    """Gives up a folder into which nothing was written."""
    partial = partial_of(folder)
    (partial / OWNER).unlink(missing_ok=True)
    try:
        partial.rmdir()
    except OSError:
        return  # something lies there: it stays


def new_owner(mark: str, job: str, pid: int, manifest: "dict[str, Any]") -> "dict[str, Any]":
    """What the owner's file says."""
    return {
        "schema_version": 1,
        "mark": mark,
        "host": socket.gethostname(),
        "job": job,
        "unix_s": time.time(),
        "process": own_identity(pid),
        "manifest": manifest,
    }
