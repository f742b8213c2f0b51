"""A run's log as it grows: steps for the score, and where a launch stands before there is one."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from openrecipes.logs.follow import LogFollower
from openrecipes.logs.step import StepRecord

_PIECE_BYTES: Final = 2**20
# What the launched scripts say of themselves, one a line.
_SAID: Final = re.compile(rb"^(?:openrecipes: (stage|cause:|job|progress) (.*)|(Ray has) (.*))$", re.MULTILINE)


class LaunchLog:
    """Reads what is new in a log, each time that it is asked; a log that began anew is read anew."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._begin()

    def _begin(self) -> None:
        self._follower = LogFollower(file=str(self._log))
        self._offset = 0
        self._inode: int | None = None
        self._line = b""
        self.stage: str | None = None
        self.detail = ""
        self.cause: str | None = None
        self.is_new = True

    def fresh(self) -> Iterator[StepRecord]:
        """The steps that came since the last time. `is_new` says that the steps before were another attempt's."""
        self.is_new = False
        try:
            found = self._log.stat()
        except FileNotFoundError:
            return
        if self._inode not in (None, found.st_ino) or found.st_size < self._offset:
            self._begin()
        self._inode = found.st_ino
        with self._log.open("rb") as file:
            file.seek(self._offset)
            while piece := file.read(_PIECE_BYTES):
                self._offset += len(piece)
                self._listen(piece)
                yield from self._follower.feed(piece)

    def rest(self) -> list[StepRecord]:
        """The steps in what is left, an unfinished last line included."""
        return self._follower.close()

    def _listen(self, piece: bytes) -> None:
        """Takes down what the scripts say; lines are whole before they are read."""
        whole, newline, rest = (self._line + piece).rpartition(b"\n")
        # A line of ours is short: of one that grows without end, nothing needs to be kept.
        self._line = rest[-4096:]
        if not newline:
            return
        for found in _SAID.finditer(whole):
            kind, text = found[1] or found[3], (found[2] or found[4]).decode(errors="replace")[:300]
            if kind == b"stage":
                self.stage, self.detail = text, ""
            elif kind == b"cause:":
                self.cause = text
            elif kind == b"progress":
                self.detail = text
            else:
                self.detail = f"{kind.decode()} {text}"
