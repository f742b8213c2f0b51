"""Files that are there whole or not at all, and never replace another unasked."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from openrecipes.problems import Place, Problem, ProblemsError, UsageError


@contextmanager
def written_whole(path: Path, *, replace: bool) -> Iterator[IO[bytes]]:
    """A file to write to, that takes its name `path` only when the block ends well and its bytes are on disk.

    Until then it is `.NAME.partial` beside it; a leftover of a killed builder is written over.

    Raises: ProblemsError if `path` exists and may not be replaced, if another builder is writing the same file, or if
    the disk is full; UsageError if the folder cannot be written to.
    """
    refuse_existing(path, replace=replace)
    partial = path.with_name(f".{path.name}.partial")
    try:
        file = open(partial, "wb", opener=_unlinked)  # noqa: SIM115  (Path.open takes no opener)
    except OSError as error:
        what, mend = (
            f"cannot be written: {error.strerror}",
            "name a file in a folder that exists and that you may write to",
        )
        raise UsageError(Problem(place=Place(file=str(path)), rule="output-writable", what=what, mend=mend)) from error
    try:
        _lock(file, path)
    except ProblemsError:
        file.close()
        raise
    try:
        file.truncate(0)
        yield file
        file.flush()
        os.fsync(file.fileno())
        _name(partial, path, replace=replace)
    except OSError as error:
        what, mend = f"could not be written: {error.strerror or error}", "make room on the disk, or name another folder"
        problem = Problem(place=Place(file=str(path)), rule="output-written", what=what, mend=mend)
        raise ProblemsError(problem) from error
    finally:
        partial.unlink(missing_ok=True)
        with suppress(OSError):  # of bytes that a full disk did not take
            file.close()


def refuse_existing(path: Path, *, replace: bool) -> None:
    """Refuses to replace a file unasked. Raises: ProblemsError."""
    if path.exists() and not replace:
        what, mend = "exists already; nothing was written", "name another file, or add --force to replace it"
        raise ProblemsError(Problem(place=Place(file=str(path)), rule="output-exists", what=what, mend=mend))


def _unlinked(name: str, _: int) -> int:
    """Opens without cutting off: another builder may be writing. A link is not followed: its end is not ours."""
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666)


def _lock(file: IO[bytes], path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        what, mend = "is being written by another builder", "wait for it, or name another file"
        raise ProblemsError(Problem(place=Place(file=str(path)), rule="output-locked", what=what, mend=mend)) from error


def _name(partial: Path, path: Path, *, replace: bool) -> None:
    """Gives the finished file its name; a file that came to be meanwhile is not replaced unasked."""
    if replace:
        partial.replace(path)
    else:
        try:
            os.link(partial, path)
        except OSError:
            # Also where the file system knows no second name for a file.
            refuse_existing(path, replace=False)
            partial.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
