"""A file replaced whole or not at all, and only if it still is what was read.

    replace_file(path, before, after)    texts; UTF-8 on disk

One writer at a time holds an advisory lock on the file's folder; the new text goes to a hidden file beside the old
one, reaches the disk, and takes its name. Whoever ends this process leaves the old file or the new one.
"""

import contextlib
import errno
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from openrecipes.problems import OutsideError, Place, Problem, ProblemsError, UsageError

LOCK_WAIT_S: Final = 10.0
_NO_LOCKS_HERE: Final = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.EBADF})


def replace_file(path: Path, before: str, after: str) -> None:
    """Puts `after` at `path`, through symbolic links, with the old file's mode, if the file still holds `before`.

    Raises: ProblemsError if it was changed in the meantime; UsageError if it is no plain file or may not be written;
    OutsideError if another writer holds the folder for long, or the disk fails.
    """
    try:
        real = path.resolve(strict=True)
        if not stat.S_ISREG(real.stat().st_mode):
            raise _refused(path, "is not a plain file", "name the recipe file itself")
        if not os.access(real, os.W_OK):
            raise _refused(path, "may not be written", "make it writable, or copy it first")
        with _only_writer(real.parent, path) as folder:
            _replace(path, real, before.encode(), after.encode(), folder)
    except FileNotFoundError:
        raise _refused(path, "is not there any more", "look where it went, then try again") from None
    except PermissionError as error:
        raise _refused(path, f"may not be written: {error.strerror}", "make its folder writable, or copy it") from None
    except OSError as error:
        raise OutsideError(
            Problem(
                place=Place(file=str(path)),
                rule="write-failed",
                what=f"could not be written: {error.strerror}; it is as it was",
                mend="free the disk or the folder, then try again",
            )
        ) from None


def _replace(path: Path, real: Path, before: bytes, after: bytes, folder: int) -> None:
    for left_over in real.parent.glob(f".{real.name}.*.tmp"):
        left_over.unlink(missing_ok=True)  # of a writer that was killed: nobody else writes while the lock is held
    handle, name = tempfile.mkstemp(prefix=f".{real.name}.", suffix=".tmp", dir=real.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(after)
            file.flush()
            _take_over(file.fileno(), real)
            os.fsync(file.fileno())
        if real.read_bytes() != before:
            raise ProblemsError(
                Problem(
                    place=Place(file=str(path)),
                    rule="write-changed-meanwhile",
                    what="the file was changed after it was read; nothing was written",
                    mend="look at the change, then run this again",
                )
            )
        Path(name).replace(real)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    os.fsync(folder)


def _take_over(handle: int, real: Path) -> None:
    """Mode and, where that is allowed, owner of the old file."""
    old = real.stat()
    with contextlib.suppress(PermissionError):
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, stat.S_IMODE(old.st_mode))


@contextlib.contextmanager
def _only_writer(folder: Path, path: Path) -> Iterator[int]:
    """The folder's handle, locked: an advisory lock, so it holds back writers that ask for it too."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(handle, path)
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int, path: Path) -> None:
    give_up = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up:
                raise _locked(path) from None
            time.sleep(0.02)
        except OSError as error:
            if error.errno in _NO_LOCKS_HERE:  # some network file systems have none; the check before the rename holds
                return
            raise
        else:
            return


def _locked(path: Path) -> OutsideError:
    what = f"another process has been writing in this folder for {LOCK_WAIT_S:.0f} s"
    mend = "wait for it to end, then try again"
    return OutsideError(Problem(place=Place(file=str(path)), rule="write-locked", what=what, mend=mend))


def _refused(path: Path, what: str, mend: str) -> UsageError:
    return UsageError(Problem(place=Place(file=str(path)), rule="write-refused", what=what, mend=mend))
