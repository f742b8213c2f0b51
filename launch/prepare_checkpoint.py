"""A torch_dist checkpoint from its first byte to its name: room for it, how far it is, and whether it is whole.

    python prepare_checkpoint.py begin FOLDER …     refuses, or makes FOLDER.partial ours; exit status below
    python prepare_checkpoint.py join FOLDER …      waits until this node sees FOLDER.partial of this preparation
    python prepare_checkpoint.py watch FOLDER …     says now and then how far the converter is, until its parent ends
    python prepare_checkpoint.py finish FOLDER …    gives FOLDER.partial its name, if it is whole

slime's converter runs between begin and finish, and writes into FOLDER.partial. `begin` ends with 0 (convert), 10 (the
checkpoint is there: nothing to do), 11 (a converter had ended before: only finish), 1 (refused, with the cause).
The standard library only, Python 3.10 or newer; checkpoint_folder.py and checkpoint_claim.py lie beside it.
"""

import argparse
import contextlib
import json
import os
import shutil
import socket
import sys
import time
from pathlib import Path
from typing import Any

from checkpoint_claim import OWNER, claim, new_owner, partial_of, release, started
from checkpoint_folder import (
    MANIFEST,
    RefusedError,
    document,
    duration,
    flaw,
    is_made_already,
    list_files,
    made_source,
    refuse_source,
    replace_text,
    room,
    words,
    written,
)

DONE, FINISH = 10, 11
# How often the folder is looked at, and its owner's file touched.
LOOK_S = 5.0


def say(text: str) -> None:
    """A line for whoever follows the log."""
    print(f"openrecipes: progress {text}", flush=True)


def begin(args: argparse.Namespace) -> int:
    """Everything that can be refused before a GPU works; then the claim."""
    here = Path(__file__).resolve().parent
    folder, source = args.folder, args.hf_checkpoint
    manifest: dict[str, Any] = json.loads((here / "checkpoint.json").read_text(encoding="utf-8"))
    config = json.loads((here / "model" / "config.json").read_text(encoding="utf-8"))
    if is_made_already(folder, manifest, args.weight_bytes):
        (folder / OWNER).unlink(missing_ok=True)
        say(f"{folder} is whole already: nothing to do")
        report(args, "whole", kept=[str(folder)])
        return DONE
    if manifest["weights"] != "random":
        refuse_source(source, config)
    is_whole = claim(folder, new_owner(args.mark, args.job, args.parent, manifest), args.weight_bytes)
    if is_whole:
        say(f"the shards of an earlier preparation in {partial_of(folder)} are whole, and are kept")
        report(args, "finishing", kept=[str(partial_of(folder))])
        return FINISH
    try:
        rooms = refuse_short(folder, args.needed_bytes)
        is_random = manifest["weights"] == "random"
        kept = [str(source)] if is_random and not made_source(here / "model", source, config) else []
    except (OSError, RefusedError):
        release(folder)
        raise
    say(f"writes about {words(args.weight_bytes)} into {folder}, where {words(rooms['free_bytes'])} are free")
    report(args, "begun", kept=kept, disk=rooms)
    return 0


def refuse_short(folder: Path, needed: int) -> "dict[str, Any]":
    """The room that there is. Raises: RefusedError if it is too little."""
    found = room(folder.parent, needed)
    if found["free_bytes"] < needed:
        what = (
            f"the checkpoint needs {words(needed)} in {folder.parent}, and {words(found['free_bytes'])} are free there"
        )
        mend = "free space there, or name a folder with more under paths.torch_dist"
        raise RefusedError("checkpoint-disk", what, mend, found)
    return found


def join(args: argparse.Namespace) -> int:
    """Every node writes its part into one folder: one that does not see it would write beside the others."""
    partial, end = partial_of(args.folder), time.monotonic() + args.within
    while args.mark != mark_of(partial):
        if time.monotonic() > end:
            what = f"{socket.gethostname()} does not see {partial}, which the first node has made"
            mend = "name a folder under paths.torch_dist on a file system that all nodes see, or convert on one node"
            raise RefusedError("checkpoint-shared", what, mend)
        time.sleep(0.5)
    return 0


def mark_of(partial: Path) -> "str | None":
    """What tells the preparation that has a folder from any other; None where none has it."""
    owner = document(partial / OWNER)
    return owner.get("mark") if isinstance(owner, dict) else None


def watch(args: argparse.Namespace) -> int:
    """Touches the owner's file, and prints a line when the phase changes and ever more rarely in between."""
    partial, began, parent = partial_of(args.folder), time.monotonic(), started(args.parent)
    pause, said_at, phase, first_write = 0.2, -1.0, "", 0.0
    while started(args.parent) == parent:
        with contextlib.suppress(OSError):  # the file system is away, or the folder has its name by now
            os.utime(partial / OWNER)
        size, took = written(partial), time.monotonic() - began
        now = "loading" if size < 2**20 else "writing"
        if now == "writing" and phase != "writing":
            first_write = took
        if now != phase or took > said_at + max(10.0, took / 5):
            say(progress_line(now, size, args.weight_bytes, took, took - first_write))
            phase, said_at = now, took
        time.sleep(pause)
        pause = min(LOOK_S, pause * 1.5)
    return 0


def progress_line(phase: str, size: int, wanted: int, took: float, writing: float) -> str:
    """`writing 12.3 GiB of about 738.3 GiB (1%), 3 min 10 s so far, about 2 h 03 min left`."""
    so_far = f"{duration(took)} so far"
    if phase == "loading":
        return f"loading the model, {so_far}"
    left = ""
    if 0 < size < wanted and writing > 2:
        left = f", about {duration(writing * (wanted - size) / size)} left"
    return f"writing {words(size)} of about {words(wanted)} ({100 * size // max(1, wanted)}%), {so_far}{left}"


def finish(args: argparse.Namespace) -> int:
    """The manifest into the folder, then its name."""
    folder, partial = args.folder, partial_of(args.folder)
    end = time.monotonic() + args.within
    # What other nodes wrote may be seen from here a little later.
    while (why := flaw(partial, args.weight_bytes)) is not None and time.monotonic() < end:
        time.sleep(1)
    if why is not None:
        mend = "read what it printed above; start the preparation again"
        raise RefusedError("checkpoint-shards", f"the converter ended without an error, but {partial} {why}", mend)
    list_files(partial)
    shutil.copyfile(Path(__file__).resolve().parent / "checkpoint.json", partial / MANIFEST)
    try:
        # Over nothing or an empty folder; anything else there stays, and so does the partial one.
        partial.rename(folder)
    except OSError as error:
        mend = f"move {folder} away, and start the preparation again: {partial} is whole and is kept"
        what = f"{partial} cannot get the name {folder}: {error.strerror}"
        raise RefusedError("checkpoint-exists", what, mend) from error
    (folder / OWNER).unlink(missing_ok=True)
    say(f"{folder} is whole, {words(written(folder))}")
    report(args, "made", bytes_written=written(folder))
    return 0


def report(args: argparse.Namespace, state: str, **more: Any) -> None:
    """What was found and done, for the machine that asked for it; what an earlier verb said stays."""
    if args.report is not None:
        before = document(args.report)
        said = before if isinstance(before, dict) else {}
        replace_text(args.report, json.dumps({**said, "schema_version": 1, "state": state, **more}, indent=2) + "\n")


def main() -> int:
    """Does what the first argument says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("verb", choices=("begin", "join", "watch", "finish"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hf-checkpoint", type=Path, help="folder of the Hugging Face checkpoint")
    parser.add_argument("--weight-bytes", type=int, default=0, help="bytes of the weights as they are stored")
    parser.add_argument("--needed-bytes", type=int, default=0, help="bytes that must be free")
    parser.add_argument("--mark", default="", help="what tells this preparation from any other")
    parser.add_argument("--job", default="", help="folder of the job's files, for people")
    parser.add_argument("--parent", type=int, default=os.getppid(), help="process whose life is the preparation's")
    parser.add_argument("--within", type=float, default=0, help="longest wait of join and finish; seconds")
    parser.add_argument("--report", type=Path, help="file to write what was found into")
    args = parser.parse_args()
    verbs = {"begin": begin, "join": join, "watch": watch, "finish": finish}
    try:
        return verbs[args.verb](args)
    except RefusedError as error:
        problem = {"rule": error.rule, "what": error.what, "mend": error.mend}
        disk = {"disk": error.disk} if error.disk else {}
        report(args, "refused", problem=problem, **disk)
        print(f"openrecipes: cause: {error.what}; {error.mend}", flush=True)
    except OSError as error:
        what = f"{error.filename or args.folder}: {error.strerror}"
        problem = {"rule": "checkpoint-writable", "what": what, "mend": "name folders that this user may write"}
        report(args, "refused", problem=problem)
        print(f"openrecipes: cause: {what}", flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
