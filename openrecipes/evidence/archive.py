"""One file of many: a tar of plain files under gzip, the same bytes for the same content, and read without trust.

write_archive(path, {"run/job.json": Path(…), …})      every byte follows from names and contents
read_archive(path, into)                               -> Archive, its members below `into`; all that is wrong with it

The reader takes the one form that the writer makes: USTAR headers of plain files, names of letters, digits and
`._+-`. A link, a name that climbs, a second member of a name, more than is declared: each is a problem that names it.
"""

import gzip
import hashlib
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from openrecipes.problems import Place, Problem, printable, unreadable

MAX_BYTES: Final = 2 * 2**30
MAX_MEMBERS: Final = 2048
# Logs repeat themselves, but no log shrinks like this; checked from so many bytes on.
MAX_RATIO: Final = 250
_RATIO_FROM: Final = 64 * 2**20
_BLOCK: Final = 512
_CHUNK: Final = 2**20
_GZIP: Final = b"\x1f\x8b"
_PART: Final = r"(?!\.{1,2}(?:/|$))[A-Za-z0-9._+-]+"
_NAME: Final = re.compile(rf"{_PART}(?:/{_PART})*")
_KINDS: Final = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"5": "a folder",
    b"6": "a pipe",
    b"S": "a sparse file",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A file of the archive: its name, size, and hash."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Archive:
    """What was read. With problems, the members are those that have none."""

    members: tuple[Member, ...]
    problems: tuple[Problem, ...]


def write_archive(path: Path, files: Mapping[str, Path]) -> None:
    """Writes the files under their names, in the mapping's order. Raises: ValueError for a name that cannot be read."""
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=9, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, source in files.items():
            if not is_name(name):
                raise ValueError(f"{name} is no name for a member")
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = source.stat().st_size, 0o644, 0
            with source.open("rb") as content:
                archive.addfile(entry, content)


def is_name(name: str) -> bool:
    """Whether a member may be called so."""
    return len(name) <= 100 and _NAME.fullmatch(name) is not None


def first_member(path: Path) -> str | None:
    """The name of a bundle's first member; None of a file that is no such archive, or cannot be read."""
    try:
        with path.open("rb") as raw:
            return _header(_Unpacked(raw).take(_BLOCK)).name
    except (OSError, _StopError):
        return None


def read_archive(path: Path, into: Path) -> Archive:
    """Every member of a bundle, written below `into`, an empty folder.

    Raises: UsageError if the file cannot be opened.
    """
    if path.exists() and not path.is_file():
        raise unreadable(str(path), "is no plain file", "name the bundle")
    try:
        with path.open("rb") as raw:
            return _Reader(path, into).read(_Unpacked(raw))
    except OSError as error:
        raise unreadable(str(path), f"cannot be read: {error.strerror or error}") from None


class _StopError(Exception):
    """The rest of the archive cannot be read, or is not worth it."""

    def __init__(self, rule: str, what: str, mend: str) -> None:
        super().__init__(what)
        self.rule, self.what, self.mend = rule, what, mend


def _damaged(what: str) -> _StopError:
    return _StopError("bundle-damaged", what, "copy or make the bundle again")


class _Unpacked:
    """The bytes under the gzip, a piece at a time, within bounds."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._unpack = zlib.decompressobj(wbits=31)
        self._ready = bytearray()
        self.packed = 0
        self.unpacked = 0

    def take(self, count: int) -> bytes:
        """Exactly so many bytes. Raises: _StopError at the end of the data."""
        while len(self._ready) < count:
            if not self._more():
                raise _damaged("the archive ends within a member or before its end")
        found = bytes(self._ready[:count])
        del self._ready[:count]
        return found

    def rest(self) -> Iterator[bytes]:
        """What is left, a piece at a time."""
        while self._ready or self._more():
            piece = bytes(self._ready)
            self._ready.clear()
            yield piece

    def _more(self) -> bool:
        if self._unpack.eof:
            if self._unpack.unused_data or self._raw.read(1):
                raise _StopError(
                    "bundle-trailing", "there is data behind the end of the archive", "make the bundle again"
                )
            return False
        data = self._unpack.unconsumed_tail or self._raw.read(64 * 2**10)
        if not data:
            raise _damaged("the compressed data is cut off")
        try:
            found = self._unpack.decompress(data, _CHUNK)
        except zlib.error as error:
            is_foreign = not self.packed and not data.startswith(_GZIP)
            what = "is no gzip file" if is_foreign else f"its compressed data is damaged ({error})"
            raise _damaged(what) from None
        self.packed += len(data) - len(self._unpack.unconsumed_tail)
        self.unpacked += len(found)
        self._ready += found
        if self.unpacked > MAX_BYTES:
            raise _StopError("bundle-size", f"unpacks to more than {MAX_BYTES} bytes", "no bundle is as large")
        if self.unpacked > max(_RATIO_FROM, MAX_RATIO * self.packed):
            what = f"unpacks to more than {MAX_RATIO} times its size"
            raise _StopError("bundle-size", what, "no log compresses so well: look at what this file is")
        return True


@dataclass(frozen=True, kw_only=True, slots=True)
class _Header:
    name: str
    size: int
    kind: bytes


class _Reader:
    """Reads members one after another and keeps what is wrong."""

    def __init__(self, path: Path, into: Path) -> None:
        self._path, self._into = path, into
        self._problems: list[Problem] = []
        self._members: list[Member] = []
        self._seen: set[str] = set()
        self._at = ""

    def read(self, data: _Unpacked) -> Archive:
        """The whole archive."""
        try:
            count = 0
            while (block := data.take(_BLOCK)) != bytes(_BLOCK):
                count += 1
                if count > MAX_MEMBERS:
                    raise _StopError("bundle-size", f"holds more than {MAX_MEMBERS} files", "no bundle has as many")
                header = _header(block)
                self._at = header.name
                self._member(header, data)
            self._at = ""
            if any(piece.strip(b"\0") for piece in data.rest()):
                raise _StopError("bundle-trailing", "there is data behind the last file", "make the bundle again")
        except _StopError as stop:
            self._complain(stop.rule, self._at, stop.what, stop.mend)
        return Archive(members=tuple(self._members), problems=tuple(self._problems))

    def _member(self, header: _Header, data: _Unpacked) -> None:
        is_good = self._is_good(header)
        self._seen.add(header.name.casefold())
        target = self._into / header.name if is_good else None
        if target is not None:
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.touch(exist_ok=False)
            except OSError:
                self._complain("bundle-member", header.name, "stands for a file and for a folder", "make it again")
                target = None
        self._content(header, target, data)

    def _content(self, header: _Header, target: Path | None, data: _Unpacked) -> None:
        """The member's bytes, to its file where it has one, and the padding behind them."""
        if header.size > MAX_BYTES:
            raise _StopError("bundle-size", f"{header.name} would have {header.size} bytes", "no bundle is as large")
        digest, left = hashlib.sha256(), header.size
        with (target or Path("/dev/null")).open("wb") as file:
            while left:
                piece = data.take(min(left, _CHUNK))
                left -= len(piece)
                digest.update(piece)
                file.write(piece)
        if data.take(-header.size % _BLOCK).strip(b"\0"):
            raise _damaged(f"there is data in the padding of {header.name}")
        if target is not None:
            self._members.append(Member(name=header.name, size_bytes=header.size, sha256=digest.hexdigest()))

    def _is_good(self, header: _Header) -> bool:
        name = header.name
        if header.kind not in (b"0", b"\0"):
            what = f"is {_KINDS.get(header.kind, 'an entry of a kind that no bundle has')}"
            self._complain("bundle-member", name, what, "a bundle holds plain files only")
        elif not is_name(name):
            self._complain("bundle-path", name, "is no path of a bundle", "paths lie below it, in plain characters")
        elif name.casefold() in self._seen:
            self._complain("bundle-duplicate", name, "stands twice in the archive", "make the bundle again")
        else:
            return True
        return False

    def _complain(self, rule: str, name: str, what: str, mend: str) -> None:
        place = Place(file=str(self._path), key=printable(name)[:200])
        self._problems.append(Problem(place=place, rule=rule, what=what, mend=mend))


def _header(block: bytes) -> _Header:
    """A USTAR header. Raises: _StopError where it is none."""
    checksum = _number(block[148:156], "checksum")
    if checksum != sum(block) - sum(block[148:156]) + 8 * 32:
        raise _damaged("a header's checksum is wrong")
    if block[257:263] not in (b"ustar\0", b"ustar "):
        raise _damaged("a header is not of the USTAR form")
    name, prefix = (_text(block[start:end]) for start, end in ((0, 100), (345, 500)))
    return _Header(
        name=f"{prefix}/{name}" if prefix else name, size=_number(block[124:136], "size"), kind=block[156:157]
    )


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "replace")


def _number(field: bytes, what: str) -> int:
    digits = field.strip(b" \0")
    if not re.fullmatch(rb"[0-7]{1,12}", digits):
        raise _damaged(f"a header's {what} is no number")
    return int(digits, 8)
