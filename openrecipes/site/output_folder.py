"""Puts a site's files into a folder, all of them or none, and never over what this program did not write."""

import json
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from openrecipes.problems import OutsideError, Place, Problem, UsageError

MANIFEST: Final = "openrecipes-site.json"


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes the files, and a list of them by which the next build knows its own.

    Raises: UsageError if the folder holds anything else; OutsideError if it cannot be written.
    """
    target = folder.absolute().resolve()
    _refuse_foreign(folder, target)
    listed = (json.dumps({"files": sorted(files)}, indent=1) + "\n").encode()
    made: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        for name, content in (*files.items(), (MANIFEST, listed)):
            path = made / name
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        made.chmod(0o755)
        _swap(target, made)
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        problem = Problem(place=_place(folder), rule="site-folder", what=what, mend="name a folder that you may write")
        raise OutsideError(problem) from error
    finally:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)


def _swap(target: Path, made: Path) -> None:
    """The new folder takes the old one's name; if it cannot, the old one keeps it."""
    if not target.exists():
        made.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent)) / "old"
    try:
        target.rename(old)
        try:
            made.rename(target)
        except OSError:
            old.rename(target)
            raise
    finally:
        shutil.rmtree(old.parent, ignore_errors=True)


def _refuse_foreign(folder: Path, target: Path) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise _refused(folder, "is a file, not a folder", "name a folder")
    there = {
        path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_symlink() or not path.is_dir()
    }
    if not there:
        return
    own: set[str] = set()
    with suppress(OSError, ValueError, TypeError, KeyError):
        own = {MANIFEST, *json.loads((target / MANIFEST).read_bytes())["files"]}
    foreign = sorted(there - own)
    if foreign:
        more = f" and {len(foreign) - 1:,} more" if len(foreign) > 1 else ""
        mend = "name a new folder, or one that `site build` made and nothing was added to"
        raise _refused(folder, f"holds {foreign[0]}{more}, which no site build wrote", mend)


def _refused(folder: Path, what: str, mend: str) -> UsageError:
    return UsageError(Problem(place=_place(folder), rule="site-folder", what=what, mend=mend))


def _place(folder: Path) -> Place:
    return Place(file=str(folder), key="--output")
