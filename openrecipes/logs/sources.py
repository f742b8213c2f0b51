"""The byte streams of a run's logs: files, directories of files, compressed files, standard input."""

import bz2
import gzip
import lzma
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

from openrecipes.problems import UsageError, together, unreadable

CHUNK = 1 << 20
_GZIP, _BZIP2, _XZ, _ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
RUN_LOG = Path("log") / "train.log"
"""Where a run directory keeps its raw log."""
_NO_LOG = re.compile(
    r"\.(?:pt|pth|bin|safetensors|distcp|parquet|arrow|npy|npz|idx|png|jpg|svg|pdf|html|nsys-rep|sqlite|qdrep"
    r"|json|jsonl|ya?ml|toml|csv|py|sh|tar|zip|whl|so|pyc|pb|model|sbatch|j2|md)",
    re.IGNORECASE,
)


def log_files(sources: Sequence[str | Path]) -> tuple[str, ...]:
    """The files to read, in natural order within a directory (`rank10` after `rank9`); `-` is standard input.

    A run directory stands for its raw log. Raises: UsageError for what is missing or holds no log.
    """
    found = together(*(partial(_files_of, str(source)) for source in sources))
    return tuple(dict.fromkeys(file for files in found for file in files))


def gives_once(source: str | Path) -> bool:
    """Whether a source is standard input or a pipe, which nobody can read again."""
    return str(source) == "-" or Path(source).is_fifo()


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A sorting key under which numbers in a name count as numbers."""
    pieces = re.split(r"(\d{1,18})", name)
    return tuple((0, int(piece), "") if piece.isdecimal() else (1, 0, piece) for piece in pieces if piece)


def _files_of(source: str) -> tuple[str, ...]:
    path = Path(source)
    if source == "-":
        return ("-",)
    if not source:
        raise unreadable("", "an empty name names no log")
    if (path / RUN_LOG).is_file():
        return (str(path / RUN_LOG),)
    if path.is_dir():
        inside = sorted((str(file) for file in _logs_in(path)), key=natural)
        if not inside:
            raise unreadable(source, "the directory holds no log file")
        return tuple(inside)
    if path.exists():
        return (str(path),)
    raise unreadable(source, "there is no such file")


def _logs_in(directory: Path) -> Iterator[Path]:
    for path in directory.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(directory).parts)
        if not hidden and not _NO_LOG.fullmatch(path.suffix) and path.is_file() and not path.is_symlink():
            yield path


@contextmanager
def opened(file: str) -> Iterator[BinaryIO]:
    """The bytes of a log, decompressed where the first bytes say gzip, zstd, bzip2 or xz.

    Raises: UsageError if the file cannot be opened, or is zstd and no decompressor is installed.
    """
    try:
        raw = sys.stdin.buffer if file == "-" else Path(file).open("rb")  # noqa: SIM115  (closed below)
    except OSError as error:
        raise unreadable(file, f"cannot be opened: {error.strerror or error}") from None
    try:
        yield _decompressed(file, cast("Any", raw))
    finally:
        if file != "-":
            raw.close()


def chunks(stream: BinaryIO) -> Iterator[bytes]:
    """The stream in pieces of about a mebibyte."""
    while piece := stream.read(CHUNK):
        yield piece


def _decompressed(file: str, raw: Any) -> BinaryIO:
    magic = raw.peek(6)[:6]
    if magic.startswith(_GZIP):
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw))
    if magic.startswith(_BZIP2):
        return cast("BinaryIO", bz2.BZ2File(raw))
    if magic.startswith(_XZ):
        return cast("BinaryIO", lzma.LZMAFile(raw))
    if magic.startswith(_ZSTD):
        return _zstd(file, raw)
    return cast("BinaryIO", raw)


def is_compressed(path: Path) -> bool:
    """Whether `opened` would decompress this file."""
    with path.open("rb") as file:
        return file.read(6).startswith((_GZIP, _BZIP2, _XZ, _ZSTD))


def _zstd(file: str, raw: Any) -> BinaryIO:
    for name in ("compression.zstd", "zstandard"):
        try:
            module = import_module(name)
        except ImportError:
            continue
        if name == "zstandard":
            return cast("BinaryIO", module.ZstdDecompressor().stream_reader(raw, read_across_frames=True))
        return cast("BinaryIO", module.ZstdFile(raw))
    raise unreadable(file, "is compressed with zstd, and no zstd module is installed", _ZSTD_MEND)


_ZSTD_MEND = "pip install zstandard, or pipe it in: zstd -dc FILE | openrecipes steps -"


def damage(error: BaseException) -> str | None:
    """What a decompressor's exception says about the file, or None if it is another kind of exception."""
    if isinstance(error, EOFError):
        return "the compressed file ends too early"
    kinds: Iterable[str] = ("BadGzipFile", "error", "LZMAError", "ZstdError", "OSError")
    if type(error).__name__ in kinds and not isinstance(error, UsageError):
        return f"cannot be decompressed or read further: {error}"
    return None
