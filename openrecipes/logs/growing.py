"""Logs that are still being written: each look gives the bytes that came since the last one."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from openrecipes.logs.sources import CHUNK, RUN_LOG, gives_once, log_files
from openrecipes.problems import UsageError, unreadable

_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")


class GrowingLogs:
    """The files of one run as they grow; files of a directory that appear later are followed too.

    A file that is cut short or replaced is read again from its beginning.
    Raises: UsageError for standard input, for a pipe, and for a compressed file, which does not grow.
    """

    def __init__(self, sources: Sequence[str]) -> None:
        for source in filter(gives_once, sources):
            name = "standard input" if source == "-" else "a pipe"
            raise unreadable(source, f"{name} cannot be watched", "write it to a file and name that")
        self._sources = tuple(sources)
        self._read: dict[str, tuple[int, int]] = {}  # inode and bytes read

    def look(self) -> Iterator[tuple[str, bytes, bool]]:
        """File, fresh bytes in pieces of at most a mebibyte, and whether the file begins anew with this piece.

        Raises: UsageError if a named file or directory does not exist.
        """
        for file in self._files():
            try:
                with Path(file).open("rb") as log:
                    state = log.seek(0, 2), Path(file).stat().st_ino
                    inode, offset = self._read.get(file, (state[1], 0))
                    begins_anew = file in self._read and (inode != state[1] or state[0] < offset)
                    offset = 0 if begins_anew else offset
                    log.seek(offset)
                    while piece := log.read(CHUNK):
                        if offset == 0 and piece.startswith(_COMPRESSED):
                            raise unreadable(file, "is compressed, so nothing is added to it", "score or diagnose it")
                        offset += len(piece)
                        yield file, piece, begins_anew
                        begins_anew = False
                    self._read[file] = (state[1], offset)
            except FileNotFoundError:
                continue  # removed between two looks

    def _files(self) -> Iterator[str]:
        for source in self._sources:
            path = Path(source)
            if path.is_dir() and not (path / RUN_LOG).is_file():
                try:
                    yield from log_files([source])
                except UsageError:
                    continue  # a directory without a log yet
            else:
                yield from log_files([source])
