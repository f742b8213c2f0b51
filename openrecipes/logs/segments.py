"""The piece of a log that is in memory, and the lines around a place in it."""

from collections.abc import Iterator
from dataclasses import dataclass

from openrecipes.logs.text import decoded

MAX_SEGMENT = 64 * 1024
"""A record is looked for within this many bytes around a hit, so that one endless line costs no memory."""


class Buffer:
    """The piece of the stream that is in memory; offsets are those of the whole stream."""

    def __init__(self) -> None:
        self.data = b""
        self.base = 0
        self.is_last = False
        self._first_line = 1
        self._memo = (0, 1)

    @property
    def end(self) -> int:
        """Offset just after the last byte in memory."""
        return self.base + len(self.data)

    def append(self, chunk: bytes) -> None:
        """Add what the stream gave next."""
        self.data = self.data + chunk if self.data else chunk

    def forget(self, before: int) -> None:
        """Drop what lies before an offset."""
        if before > self.base:
            line = self.line(before)
            self.data = self.data[before - self.base :]
            self.base, self._first_line, self._memo = before, line, (before, line)

    def line(self, offset: int) -> int:
        """Number from 1 of the line in which an offset lies; lines end at line feeds, as editors count them."""
        at, line = self._memo if self._memo[0] <= offset else (self.base, self._first_line)
        line += self.data.count(b"\n", at - self.base, offset - self.base)
        self._memo = (offset, line)
        return line


@dataclass(frozen=True, slots=True)
class Segment:
    """Text between two line breaks or carriage returns: [start, end) in the stream.

    `ended`: the stream holds what ends it. `cut`: nothing ended it within MAX_SEGMENT bytes.
    """

    start: int
    end: int
    ended: bool
    cut: bool
    text: str


def segment_at(buffer: Buffer, hit: int, floor: int) -> Segment:
    """The segment around an offset, at most MAX_SEGMENT to either side and not before `floor`."""
    data, base = buffer.data, buffer.base
    low = max(floor, hit - MAX_SEGMENT, base) - base
    at = hit - base
    start = max(data.rfind(b"\n", low, at), data.rfind(b"\r", low, at)) + 1
    return _segment(buffer, start or max(low, at - MAX_SEGMENT // 4), at)


def segment_after(buffer: Buffer, end: int) -> Segment | None:
    """The next segment that is not empty, or None at the end of the buffer."""
    at = end - buffer.base
    while at < len(buffer.data) and buffer.data[at] in b"\r\n":
        at += 1
    return _segment(buffer, at, at) if at < len(buffer.data) else None


def segment_before(buffer: Buffer, start: int, floor: int) -> Segment | None:
    """The segment before an offset that is not empty, or None where `floor` is reached."""
    at, low = start - buffer.base, max(floor, buffer.base) - buffer.base
    while at > low and buffer.data[at - 1] in b"\r\n":
        at -= 1
    return segment_at(buffer, buffer.base + at, floor) if at > low else None


def _segment(buffer: Buffer, start: int, at: int) -> Segment:
    data = buffer.data
    stop = min(len(data), at + MAX_SEGMENT)
    feed = data.find(b"\n", at, stop)
    back = data.find(b"\r", at, stop if feed < 0 else feed)
    end = back if back >= 0 else feed
    cut = end < 0 and stop < len(data)
    ended = end >= 0 or cut
    end = end if end >= 0 else stop
    return Segment(buffer.base + start, buffer.base + end, ended, cut, decoded(data[start:end]))


def is_widest(buffer: Buffer, segment: Segment) -> bool:
    """Whether no line near this one is longer and some are as long, as where a terminal wrapped them."""
    low, high = max(segment.start - 8192, buffer.base), segment.end + 8192
    lengths = [len(line.rstrip(b"\r")) for line in buffer.data[low - buffer.base : high - buffer.base].split(b"\n")]
    own = segment.end - segment.start
    return all(length <= own for length in lengths[1:-1]) and lengths.count(own) > 1


def segments_of(data: bytes) -> Iterator[str]:
    """The texts between line breaks and carriage returns, empty ones left out."""
    for piece in data.replace(b"\r", b"\n").split(b"\n"):
        if piece:
            yield decoded(piece[:MAX_SEGMENT])
