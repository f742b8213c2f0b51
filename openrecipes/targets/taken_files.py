"""Files of a run taken from elsewhere: only its own names, only regular files, never out of its directory."""

import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final

from openrecipes.problems import OutsideError, Place, Problem

# What the scripts of a run write beside what is here already; its log is brought by itself, as it grows.
FILES: Final = ("job.json", "environment.json", "checkpoint.json", "preflight.json", "nodes.json")
FOLDERS: Final = ("log", "preflight", "telemetry")
_LOG: Final = PurePosixPath("log/train.log")
_MOST_BYTES: Final = 64 * 2**30
_MOST_FILES: Final = 100_000


def unpack(packed: IO[bytes], root: Path, folders: tuple[str, ...] = FOLDERS, files: tuple[str, ...] = FILES) -> None:
    """Writes the run's files in a tar below `root`. Raises: OutsideError for a tar that is cut off or has no end."""
    left = _MOST_BYTES
    try:
        with tarfile.open(fileobj=packed, mode="r|") as archive:
            for number, member in enumerate(archive):
                path = PurePosixPath(member.name)
                left -= member.size
                if left < 0 or number > _MOST_FILES:
                    raise _outside(f"more than {_MOST_BYTES // 2**30} GiB or {_MOST_FILES} files")
                stream = archive.extractfile(member) if member.isreg() and _is_ours(path, folders, files) else None
                if stream is not None:
                    _put(stream, root / path)
    except (tarfile.TarError, EOFError) as error:
        raise _outside(f"a tar that cannot be read: {error}") from error


def copy(source: Path, root: Path) -> None:
    """Copies the run's files below a folder to below `root`. Raises: OutsideError if one cannot be read."""
    try:
        for path in _regular_files(source):
            within = PurePosixPath(path.relative_to(source).as_posix())
            if _is_ours(within, FOLDERS, FILES):
                with path.open("rb") as stream:
                    _put(stream, root / within)
    except OSError as error:
        raise _outside(f"a file that cannot be copied: {error}") from error


def _regular_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            continue
        if path.is_dir():
            yield from _regular_files(path)
        elif path.is_file():
            yield path


def _is_ours(path: PurePosixPath, folders: tuple[str, ...], files: tuple[str, ...]) -> bool:
    parts = path.parts
    if not parts or path.is_absolute() or ".." in parts or path == _LOG:
        return False
    hidden = any(part.startswith(".") for part in parts)
    return not hidden and (path.as_posix() in files or (len(parts) > 1 and parts[0] in folders))


def _put(stream: IO[bytes], path: Path) -> None:
    """Whole or not at all: somebody may be reading what was there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as out:
        shutil.copyfileobj(stream, out)
    part.replace(path)


def _outside(what: str) -> OutsideError:
    mend = "look at the run's folder on the cluster's volume"
    return OutsideError(Problem(place=Place(), rule="run-files", what=f"the run's folder gave {what}", mend=mend))
