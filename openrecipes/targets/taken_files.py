"""Files of a run taken from elsewhere: only its own names, only regular files, never out of its directory.

    tar … | python3 taken_files.py RUN_DIR --host INDEX      what a host of ssh gives back; 0 is the head

Whoever packed them is not trusted: a name with `..`, an absolute one, a link, a device, a hidden file and whatever a
run's scripts do not write are passed over. It is launched as it is, too: the standard library only, Python 3.10 or
newer, one file.
"""

import argparse
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, cast

# What the scripts of a run write beside what is here already; its log is brought by itself, as it grows.
FILES: Final = (
    "job.json", "environment.json", "checkpoint.json", "checkpoint-report.json", "preflight.json", "nodes.json",
)  # fmt: skip
FOLDERS: Final = ("log", "preflight", "telemetry")
_LOG: Final = PurePosixPath("log/train.log")
# What the launch writes that goes on here, and no host of it.
_OF_THE_LAUNCH: Final = ("job.json", "log/arrivals.jsonl", "log/slurm.log")
# What a host other than the head writes.
_OF_A_WORKER: Final = ("log", "telemetry")
_EXIT: Final = "exit-"
_MOST_BYTES: Final = 64 * 2**30
_MOST_FILES: Final = 100_000
# Of headers beside the members' own: tarfile reads them whole, however long they say they are, and keeps them.
_MOST_HEADER_BYTES: Final = 16 * 2**20

Wanted = Callable[[PurePosixPath], bool]


class CannotTakeError(Exception):
    """Why not everything could be taken, in words."""


def of_a_run(path: PurePosixPath) -> bool:
    """Whether the scripts of a run write this path."""
    return _is_one_of(path, FOLDERS, FILES)


def of_ray(path: PurePosixPath) -> bool:
    """Whether it is one of the logs that Ray keeps."""
    return _is_one_of(path, ("logs",), ())


def of_host(index: int) -> Wanted:
    """Whether this host of a run writes a path: the head's reports are the head's, and each has its own exit status."""

    def is_wanted(path: PurePosixPath) -> bool:
        if path.parts[:1] == ("log",) and path.name.startswith(_EXIT):
            return path.as_posix() == f"log/{_EXIT}{index}"
        if path.as_posix() in _OF_THE_LAUNCH:
            return False
        return _is_one_of(path, _OF_A_WORKER, ()) if index else of_a_run(path)

    return is_wanted


def unpack(packed: IO[bytes], root: Path, wanted: Wanted = of_a_run) -> None:
    """Writes the wanted files in a tar below `root`. Raises: CannotTakeError for one that is cut off or has no end."""
    bounded, left = _Bounded(packed, _MOST_HEADER_BYTES), _MOST_BYTES
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", bounded), mode="r|", tarinfo=_Member) as archive:
            number = 0
            while (member := archive.next()) is not None:
                number += 1
                left -= member.size
                if member.size < 0 or left < 0 or number > _MOST_FILES:
                    raise CannotTakeError(f"more than {_MOST_BYTES // 2**30} GiB or {_MOST_FILES} files")
                bounded.left += member.size + 2 * tarfile.BLOCKSIZE
                path = PurePosixPath(member.name)
                stream = archive.extractfile(member) if member.isreg() and wanted(path) else None
                if stream is not None:
                    _put(stream, root / path)
    except (tarfile.TarError, EOFError, RecursionError, ValueError) as error:
        raise CannotTakeError(f"a tar that cannot be read: {error}") from error
    except OSError as error:
        raise CannotTakeError(f"a file that cannot be written: {error}") from error


def copy(source: Path, root: Path) -> None:
    """Copies the run's files below a folder to below `root`. Raises: CannotTakeError if one cannot be read."""
    try:
        for path in _regular_files(source):
            within = PurePosixPath(path.relative_to(source).as_posix())
            if of_a_run(within):
                with path.open("rb") as stream:
                    _put(stream, root / within)
    except OSError as error:
        raise CannotTakeError(f"a file that cannot be copied: {error}") from error


def source_text() -> str:
    """This file's own text: what is launched is what is read here."""
    return Path(__file__).read_text(encoding="utf-8")


class _Member(tarfile.TarInfo):
    """tarfile takes a broken header, and the end of the bytes, for the end of the archive; only zeros are that."""

    @classmethod
    def frombuf(cls, buf: Any, encoding: str, errors: str) -> "_Member":
        """The member of a header. Raises: CannotTakeError for a broken one."""
        is_end = len(buf) == tarfile.BLOCKSIZE and not any(buf)
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if is_end:
                raise
            raise CannotTakeError(f"a tar that cannot be read: {error}") from error


class _Bounded:
    """A stream of which no more can be read than is `left`."""

    def __init__(self, packed: IO[bytes], left: int) -> None:
        self._packed = packed
        self.left = left

    def read(self, size: int) -> bytes:
        """So many bytes, fewer at the end."""
        piece = self._packed.read(size)
        self.left -= len(piece)
        if self.left < 0:
            raise CannotTakeError("a tar whose headers have no end")
        return piece


def _regular_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            continue
        if path.is_dir():
            yield from _regular_files(path)
        elif path.is_file():
            yield path


def _is_one_of(path: PurePosixPath, folders: tuple[str, ...], files: tuple[str, ...]) -> bool:
    parts = path.parts
    if not parts or path.is_absolute() or ".." in parts or path == _LOG:
        return False
    if any(part.startswith(".") for part in parts) or any(ord(c) < 32 for c in path.as_posix()):
        return False
    return path.as_posix() in files or (len(parts) > 1 and parts[0] in folders)


def _put(stream: IO[bytes], path: Path) -> None:
    """Whole or not at all: somebody may be reading what was there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as out:
        shutil.copyfileobj(stream, out)
    part.replace(path)


def main() -> int:
    """Takes what comes on standard input; 1 where not all of it could be had."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("--host", type=int, required=True, help="which host of the run packed it")
    args = parser.parse_args()
    try:
        unpack(sys.stdin.buffer, args.root, of_host(args.host))
    except CannotTakeError as error:
        print(f"openrecipes: what came back was {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
