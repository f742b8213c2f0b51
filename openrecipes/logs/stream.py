"""One log file as it streams past: its steps by format, its arguments, its first and last time stamp."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from openrecipes.logs.argument_dump import ArgumentDump
from openrecipes.logs.reader import Part, Reader, Spot
from openrecipes.logs.segments import Buffer, segments_of
from openrecipes.logs.sources import CHUNK
from openrecipes.logs.step import StepRecord
from openrecipes.logs.text import clock_s
from openrecipes.logs.track import Track
from openrecipes.problems import Place, Problem

_SAMPLE = 1 << 20
"""Bytes after which the format with the most timed steps is read alone, and whole-line logs the fast way."""
_EDGE = 64 * 1024
_TAIL = 32 * 1024
_MAX_PROBLEMS = 100


@dataclass(slots=True)
class Found:
    """What one reader has found in one stream."""

    reader: Reader
    steps: list[StepRecord] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unread: int = 0
    timed: int = 0

    @property
    def rank(self) -> tuple[int, int, int]:
        """How well the format fits: steps with a time, then steps, then marks of its own."""
        return self.timed, len(self.steps), int(self.reader.is_marked)

    def keep(self, step: StepRecord) -> None:
        """Note a step."""
        self.steps.append(step)
        self.timed += step.step_time_s is not None

    def another_broken(self, count: int) -> bool:
        """Count records that cannot be read, once enough of them have been told; False before that."""
        if len(self.problems) < _MAX_PROBLEMS:
            return False
        self.unread += count
        return True

    def broken(self, part: Part, spot: Spot, text: str) -> None:
        """Note a record that begins here and cannot be read."""
        self.unread += 1
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(_unreadable(part, spot, text))


class LogStream:
    """Feed it bytes; it finds the steps of every format, and soon of the best alone."""

    def __init__(self, file: str, readers: list[Reader]) -> None:
        self.file = file
        self.found = [Found(reader) for reader in readers]
        self.passed: list[Found] = []  # of the formats that are not read any more, once the log has settled on one
        self.dump = ArgumentDump()
        self.first_stamp_s: float | None = None
        self.last_stamp_s: float | None = None
        self.holds_text = True
        self.bytes_read = 0
        self._buffer = Buffer()
        self._signs: set[bytes] = set()
        self._beside_signs = {sign for reader in readers for sign in reader.beside_signs}
        for reader in readers:
            reader.arguments = self.dump.values
        self._tracks = [
            Track(
                reader=found.reader,
                file=file,
                on_step=found.keep,
                on_broken=found.broken,
                on_another_broken=found.another_broken,
            )
            for found in self.found
        ]

    @property
    def best(self) -> Found:
        """The format that fits this stream best so far."""
        return max(self.found, key=lambda found: found.rank)

    def feed(self, piece: bytes) -> None:
        """Read on."""
        for start in range(0, len(piece), CHUNK):
            self._buffer.append(piece[start : start + CHUNK])
            self._read_on()

    def read_from(self, source: BinaryIO) -> None:
        """Read on to the end of an open file."""
        while self._buffer.read_from(source, CHUNK):
            self._read_on()

    def _read_on(self) -> None:
        """Look through what has come, whatever the pieces are in which it comes."""
        before, self.bytes_read = self.bytes_read, self._buffer.end
        if before < _EDGE <= self.bytes_read:
            self._read_head()
        if before < _SAMPLE:
            missing = self._beside_signs - self._signs
            self._signs |= {one for one in missing if self._buffer.find(one, before - len(one), _SAMPLE) >= 0}
        self._scan()
        if self.bytes_read >= _SAMPLE:
            self._settle()

    def close(self) -> None:
        """Read what is left; a last line without its end counts as it stands."""
        self._buffer.is_last = True
        if self.bytes_read < _EDGE:
            self._read_head()
        self._scan()
        for track, found in zip(self._tracks, self.found, strict=True):
            for step in track.reader.finish():
                found.keep(step)
        self._look_at_tail()
        for text in reversed(list(segments_of(self._buffer.piece(self._buffer.end - _EDGE, self._buffer.end)))):
            self.last_stamp_s = clock_s(text)
            if self.last_stamp_s is not None:
                break

    def _look_at_tail(self) -> None:
        """Take what the formats that are not read any more find at the log's end: a second run's log stands there."""
        if not self.passed:
            return
        begin = max(self._buffer.end - _TAIL, self._buffer.base)
        lines_before = self._buffer.line(begin) - 1
        tail = LogStream(self.file, [type(found.reader)() for found in self.passed])
        tail.feed(self._buffer.piece(begin, self._buffer.end))
        tail.close()
        late = {found.reader.name: found.steps for found in (*tail.found, *tail.passed)}
        for found in self.passed:
            for step in late[found.reader.name]:
                found.keep(replace(step, line=step.line + lines_before))

    def _read_head(self) -> None:
        head = self._buffer.piece(0, _EDGE)
        odd = sum(head.count(byte) for byte in (*range(7), *range(14, 27), *range(28, 32), 127))
        self.holds_text = odd <= len(head) // 20
        self.first_stamp_s = next((stamp for text in segments_of(head) if (stamp := clock_s(text)) is not None), None)

    def _scan(self) -> None:
        needed = [track.scan(self._buffer) for track in self._tracks]
        needed.append(max(self._buffer.end - _EDGE, self._buffer.base))
        self._buffer.forget(min([self.dump.scan(self._buffer), *needed]))

    def _settle(self) -> None:
        """Once a format has shown itself, read it alone; and by its longest marks where its records are whole lines."""
        best = self.best
        if best.timed < 2 and len(best.steps) < 8:
            return
        if len(self._tracks) > 1:
            self._tracks = [track for track in self._tracks if track.reader is best.reader]
            self.passed = [found for found in self.found if found is not best]
            self.found = [best]
        self._tracks[0].settle(self._buffer, beside=any(sign in self._signs for sign in best.reader.beside_signs))


def _unreadable(part: Part, spot: Spot, text: str) -> Problem:
    excerpt = " ".join(text[part.start : part.start + 120].split())
    place = Place(file=spot.file, line=spot.line, key="" if part.index is None else f"{part.kind} {part.index}")
    if part.kind == "truncated":
        return Problem(
            place=place,
            rule="log-truncated",
            severity="warning",
            what=f"the log ends in the middle of a record: {excerpt}",
            mend="read the log again once it is complete; this record is not counted",
        )
    if part.kind == "fragment":
        return Problem(
            place=place,
            rule="record-fragment",
            severity="warning",
            what=f"the end of a record without its beginning: {excerpt}",
            mend="read the log from an earlier line; this record is not counted",
        )
    if part.kind == "field":
        return Problem(
            place=Place(file=spot.file, line=spot.line, key="" if part.index is None else f"step {part.index}"),
            rule="field-unreadable",
            severity="warning",
            what=f"a value of this record is cut off or overwritten: {excerpt}",
            mend="read a copy of the log in which this line is whole; that value is not counted",
        )
    return Problem(
        place=place,
        rule="record-unreadable",
        what=f"a record begins here and cannot be read to its end: {excerpt}",
        mend="read a copy of the log in which this line is whole; the record is not counted",
    )


def problems_of(found: Found) -> Iterator[Problem]:
    """What could not be read, at most a hundred places and a count of the rest."""
    yield from found.problems
    yield from found.reader.problems
    if found.unread > _MAX_PROBLEMS:
        last = found.problems[-1].place
        yield Problem(
            place=last,
            rule="record-unreadable",
            what=f"{found.unread - _MAX_PROBLEMS} more records after this one cannot be read",
            mend="read an undamaged copy of the log",
        )
