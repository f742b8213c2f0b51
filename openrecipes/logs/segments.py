"""The piece of a log that is in memory, and the lines around a place in it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from openrecipes.logs.text import decoded

MAX_SEGMENT = 64 * 1024
"""A record is looked for within this many bytes around a hit, so that one endless line costs no memory."""
NEAR = 8192
"""Bytes to either side in which the width of a line is compared with those of others."""
_CAPACITY = (1 << 20) + 4 * MAX_SEGMENT


class Buffer:
    """The piece of the stream that is in memory; offsets are those of the whole stream.

    One block of memory, filled again and again: a new one a piece would cost as much as the search in it.
    """

    def __init__(self) -> None:
        self.data = bytearray(_CAPACITY)
        self.size = 0
        self.base = 0
        self.is_last = False
        self._first_line = 1
        self._memo = (0, 1)

    @property
    def end(self) -> int:
        """Offset just after the last byte in memory."""
        return self.base + self.size

    def read_from(self, stream: BinaryIO, count: int) -> int:
        """Add what the stream gives next, at most `count` bytes; how many these were."""
        self._make_room(count)
        # What a damaged compressed file still gives must not be lost to the error behind it, so: one read.
        read: Callable[[memoryview], int | None] = getattr(stream, "readinto1", None) or stream.readinto  # type: ignore[attr-defined]
        with memoryview(self.data) as block, block[self.size : self.size + count] as room:
            got = read(room) or 0
        self.size += got
        return int(got)

    def append(self, piece: bytes) -> None:
        """Add bytes."""
        self._make_room(len(piece))
        self.data[self.size : self.size + len(piece)] = piece
        self.size += len(piece)

    def find(self, needle: bytes, start: int, stop: int | None = None) -> int:
        """Offset of the needle at or after `start` and before `stop`, or -1. Bytes of earlier pieces may lie behind."""
        high = self.size if stop is None else max(0, min(stop - self.base, self.size))
        at = self.data.find(needle, max(start - self.base, 0), high)
        return -1 if at < 0 else self.base + at

    def rfind(self, needle: bytes, start: int, stop: int) -> int:
        """Offset of the last needle from `start` on and before `stop`, or -1."""
        at = self.data.rfind(needle, max(start - self.base, 0), max(0, min(stop - self.base, self.size)))
        return -1 if at < 0 else self.base + at

    def search(self, pattern: re.Pattern[bytes], start: int, stop: int | None = None) -> int:
        """Offset of the first match at or after `start` and before `stop`, or -1."""
        high = self.size if stop is None else max(0, min(stop - self.base, self.size))
        match = pattern.search(self.data, max(start - self.base, 0), high)
        return self.base + match.start() if match else -1

    def piece(self, start: int, stop: int) -> bytes:
        """The bytes from `start` to `stop`, as far as they are in memory."""
        return bytes(self.data[max(start - self.base, 0) : max(min(stop - self.base, self.size), 0)])

    def forget(self, before: int) -> None:
        """Drop what lies before an offset."""
        if before > self.base:
            line, gone = self.line(before), before - self.base
            self.data[: self.size - gone] = self.data[gone : self.size]
            self.size -= gone
            self.base, self._first_line, self._memo = before, line, (before, line)

    def line(self, offset: int) -> int:
        """Number from 1 of the line in which an offset lies; lines end at line feeds, as editors count them."""
        at, line = self._memo if self._memo[0] <= offset else (self.base, self._first_line)
        start, stop = at - self.base, offset - self.base
        while start < stop:
            # Deleting the line feeds of a small piece is twice as fast as counting them.
            piece = self.data[start : min(start + 65_536, stop)]
            line += len(piece) - len(piece.replace(b"\n", b""))
            start += 65_536
        self._memo = (offset, line)
        return line

    def _make_room(self, count: int) -> None:
        if self.size + count > len(self.data):
            self.data.extend(bytes(self.size + count - len(self.data)))


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
    low = max(floor, hit - MAX_SEGMENT, buffer.base)
    start = max(buffer.rfind(b"\n", low, hit), buffer.rfind(b"\r", low, hit)) + 1
    return _segment(buffer, start or max(low, hit - MAX_SEGMENT // 4), hit)


def segment_after(buffer: Buffer, end: int) -> Segment | None:
    """The next segment that is not empty, or None at the end of the buffer."""
    while end < buffer.end and buffer.data[end - buffer.base] in b"\r\n":
        end += 1
    return _segment(buffer, end, end) if end < buffer.end else None


def segment_before(buffer: Buffer, start: int, floor: int) -> Segment | None:
    """The segment before an offset that is not empty, or None where `floor` is reached."""
    low = max(floor, buffer.base)
    while start > low and buffer.data[start - 1 - buffer.base] in b"\r\n":
        start -= 1
    return segment_at(buffer, start, floor) if start > low else None


def _segment(buffer: Buffer, start: int, at: int) -> Segment:
    stop = min(buffer.end, at + MAX_SEGMENT)
    feed = buffer.find(b"\n", at, stop)
    back = buffer.find(b"\r", at, stop if feed < 0 else feed)
    end = back if back >= 0 else feed
    cut = end < 0 and stop < buffer.end
    ended = end >= 0 or cut
    end = end if end >= 0 else stop
    return Segment(start, end, ended, cut, decoded(buffer.piece(start, end)))


def is_wrapped(buffer: Buffer, segment: Segment) -> bool | None:
    """Whether a terminal wrapped the log at the width of this line: no line near by is longer, and some are as long.

    None where none is longer and none as long, so that it may have. Widths are bytes, characters, or characters that
    show: what wrapped the log counted one of them.
    """
    near = [line.rstrip(b"\r") for line in buffer.piece(segment.start - NEAR, segment.end + NEAR).split(b"\n")]
    # Whether a carriage return begins a new line depends on what wrapped them: with it, then without.
    break_at = buffer.rfind(b"\n", segment.start - NEAR, segment.start)
    line_start = break_at + 1 if break_at >= 0 else max(buffer.base, segment.start - NEAR)
    by_segment = _is_wrapped(near, buffer.piece(segment.start, segment.end))
    by_line = _is_wrapped(near, buffer.piece(line_start, segment.end)) if line_start < segment.start else by_segment
    return by_line if by_segment is False or by_line else by_segment


def _is_wrapped(near: list[bytes], line: bytes) -> bool | None:
    own = line.rstrip(b"\r")
    may_be = False
    for width in (len, lambda line: len(line.decode(errors="replace")), lambda line: len(decoded(line))):
        widths = [width(line) for line in near]
        if all(other <= width(own) for other in widths[1:-1]):
            if widths.count(width(own)) > 1:
                return True
            may_be = True
    return None if may_be else False


def segments_of(data: bytes) -> Iterator[str]:
    """The texts between line breaks and carriage returns, empty ones left out."""
    for piece in data.replace(b"\r", b"\n").split(b"\n"):
        if piece:
            yield decoded(piece[:MAX_SEGMENT])
