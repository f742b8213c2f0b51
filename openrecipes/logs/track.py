"""One reader's way through a log: literal search in large pieces, text only around the hits."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from openrecipes.logs.reader import Finding, Part, Reader, Spot
from openrecipes.logs.segments import (
    MAX_SEGMENT,
    NEAR,
    Buffer,
    Segment,
    is_wrapped,
    segment_after,
    segment_at,
    segment_before,
)
from openrecipes.logs.step import StepRecord
from openrecipes.logs.text import continuation
from openrecipes.logs.window import Glue, Window

MAX_JOIN = 24
"""A record wrapped over more lines than this is not put together."""
_LOOK_BEHIND = 12
_LONGEST_NEEDLE = 64
_ENOUGH = 500
_DOUBT = 32
"""After so many hits in a row with nothing there, lines that hold nothing are passed over without a closer look."""
_BESIDE = frozenset(("other", "mark", "time", "overflow"))
"""Kinds of parts that stand beside the records; losing one loses no step."""
_OVERLAP = MAX_SEGMENT // 4
_LAST_NUMBER = re.compile(r"[\d.eE+-]+\s*\Z")
_DIGITS = re.compile(r"(?:\d|[.,]\d|[eE][+-]?\d|[+-]\d)[\d.,eE+-]*\s*")


@dataclass(slots=True)
class Track:
    """One reader's way through the stream."""

    reader: Reader
    on_step: Callable[[StepRecord], None]
    on_broken: Callable[[Part, Spot, str], None]
    on_another_broken: Callable[[int], bool]
    """Takes so many broken records whose place nobody asks for any more; False where their places are still told."""
    file: str
    sure: bool = False
    pattern: re.Pattern[bytes] | None = None
    needles: tuple[bytes, ...] = ()
    joined: int = 0
    _unsure: int = 0
    _unmatched: int = 0
    _noted: int = 0
    _marked: dict[bytes, int] = field(default_factory=dict)
    _places: dict[bytes, int] = field(default_factory=dict)
    found: int = 0
    position: int = 0
    consumed: int = 0
    _hits: dict[bytes, int] = field(default_factory=dict)
    """Where each needle was found last; -1 where it does not come again in what is in memory."""
    _searched: dict[bytes, int] = field(default_factory=dict)
    _endless: set[int] = field(default_factory=set)
    _unexplained: int = -1
    _misses: int = 0
    _end: int = 0
    _seen_ahead: tuple[Segment, Finding] | None = None

    def __post_init__(self) -> None:
        self.needles = self.reader.needles

    def scan(self, buffer: Buffer) -> int:
        """Read what the buffer allows; the offset from which the stream is still needed."""
        while (hit := self._next_hit(buffer)) is not None:
            segment = segment_at(buffer, hit, self.consumed)
            self.position = hit
            if not (segment.ended or buffer.is_last) or not self._read(buffer, segment, hit):
                return max(self.consumed, segment.start - MAX_SEGMENT)
        return max(self.consumed, buffer.end - MAX_SEGMENT)

    def _next_hit(self, buffer: Buffer) -> int | None:
        """Offset of the nearest needle at or after the position. A needle may straddle two pieces of the stream."""
        if self.pattern is not None:
            begin = max(self.position, self._searched.get(b"", 0))
            found = buffer.search(self.pattern, begin)
            if found < 0:
                self._searched[b""] = max(begin, buffer.end - _LONGEST_NEEDLE)
            return None if found < 0 else found
        hits, position, end = self._hits, self.position, buffer.end
        if end != self._end:
            self._end = end
            for needle in [needle for needle, known in hits.items() if known < 0]:
                del hits[needle]
        best: int | None = None
        for needle in self.needles:
            known = hits.get(needle)
            if known is None or 0 <= known < position:
                begin = max(position, self._searched.get(needle, 0))
                known = hits[needle] = buffer.find(needle, begin)
                if known < 0:
                    self._searched[needle] = max(begin, end - len(needle) + 1)
            if known >= 0 and (best is None or known < best):
                best = known
        return best

    def _pass_over(self, buffer: Buffer) -> None:
        """Move on to the next line in which there may be something; not into lines that end nowhere near."""
        start = self.position
        while True:
            stop = buffer.rfind(b"\n", self.position, self.position + MAX_SEGMENT)
            if stop <= self.position:
                break
            at = buffer.search(self.reader.telling, self.position, stop)
            if at >= 0:
                self.position = max(buffer.rfind(b"\n", self.position, at), self.position)
                break
            self.position = stop
        if self.position - start < MAX_SEGMENT // 64:
            self._misses = 0

    def _read(self, buffer: Buffer, segment: Segment, hit: int) -> bool:
        """Take the records at a hit; False where the stream must go on before they can be read."""
        ahead = self._seen_ahead
        known = ahead is not None and ahead[0].start == segment.start and ahead[0].end == segment.end
        finding = ahead[1] if ahead is not None and known else self.reader.find(segment.text)
        if segment.ended and not segment.cut and not finding.tells:
            self.position = max(segment.end, hit + 1)
            self._misses += 1
            if self._misses >= _DOUBT:
                self._pass_over(buffer)
            return True
        self._misses = 0
        if finding.is_broken_alone and not segment.cut and self.on_another_broken(len(finding.broken)):
            self.consumed = self.position = max(segment.end, hit + 1)
            return True
        window = Window.of(segment)
        if finding.ends_in_number and not segment.ended:
            window, finding = self._without_last_number(buffer, window)
        if segment.cut:
            self._read_endless(buffer, window, finding)
            return True
        if finding.fragment and not window.has_own_prefix:
            window, finding = self._look_behind(buffer, window, finding)
            # What begins before a line that no earlier one explains does not reach over it.
            self._unexplained = segment.start if finding.fragment else self._unexplained
        if finding.open_at is not None or finding.may_go_on:
            longer = self._look_ahead(buffer, window, finding)
            if longer is None:
                return False
            window, finding = longer
        self.position = max(window.segments[-1].end, hit + 1)
        if finding.parts or finding.broken:
            self.consumed = self.position
        self._take(buffer, window, finding)
        return True

    def _read_endless(self, buffer: Buffer, window: Window, finding: Finding) -> None:
        """Take what is whole in a piece of a line without end; what reaches over its end is met again in the next."""
        segment, whole = window.segments[0], len(window.text) - _OVERLAP // 8
        parts = [part for part in finding.parts if part.end <= whole]
        marks = [hash((part.kind, part.index, tuple(part.values.items()))) for part in parts]
        fresh = [part for part, mark in zip(parts, marks, strict=True) if mark not in self._endless]
        self._take(buffer, window, Finding(parts=tuple(fresh)))
        self._endless = set(marks)
        self.consumed = self.position = max(self.position + 1, segment.end - _OVERLAP)

    def _without_last_number(
        self, buffer: Buffer, window: Window, cut: Finding | None = None
    ) -> tuple[Window, Finding]:
        """The window without a last number that more digits may have followed: the log ends there, or it is `cut`."""
        spot = window.spot(buffer, self.file, 0)
        index = cut.parts[-1].index if cut and cut.parts else None
        kind, start = "field" if cut else "truncated", max(0, len(window.text) - 60)
        self.on_broken(Part(kind=kind, index=index, values={}, start=start, end=len(window.text)), spot, window.text)
        shorter = replace(window, text=_LAST_NUMBER.sub("", window.text))
        return shorter, self.reader.find(shorter.text)

    def _look_behind(self, buffer: Buffer, window: Window, finding: Finding) -> tuple[Window, Finding]:
        """The window with the lines before it in which the record begins, or as it was."""
        segments = window.segments
        for _ in range(_LOOK_BEHIND):
            earlier = segment_before(buffer, segments[0].start, self.consumed)
            if earlier is None or earlier.start < self._unexplained:
                break
            if window.segments[-1].end - earlier.start > MAX_SEGMENT:
                break
            segments = (earlier, *segments)
            for glue in (Glue.EXACT, Glue.BLANK):
                longer = Window.of(*segments, glue=glue)
                better = self.reader.find(longer.text)
                if (better.parts or better.open_at is not None) and not better.fragment:
                    return longer, better
        return window, finding

    def _look_ahead(self, buffer: Buffer, window: Window, finding: Finding) -> tuple[Window, Finding] | None:
        """The window with the lines after it that complete its record; None where they are not in memory yet."""
        best = (window, finding) if finding.may_go_on else None
        longer, latest, at_end = window, finding, False
        for _ in range(MAX_JOIN):
            later = segment_after(buffer, longer.segments[-1].end)
            if later is None or not (later.ended or buffer.is_last):
                if not buffer.is_last:
                    return None
                at_end = True
                break
            if later.end - window.segments[0].start > 2 * MAX_SEGMENT:
                break
            own = self.reader.find(later.text)
            if later.ended and not later.cut:
                self._seen_ahead = (later, own)
            told = any(part.kind != "mark" for part in own.parts)
            if (told or own.open_at is not None or own.broken) and not own.fragment:
                break
            if latest.ends_in_number and not (goes_on := self._number_goes_on(buffer, longer, later)):
                if goes_on is None and not buffer.is_last and buffer.end < later.end + NEAR:
                    return None  # what comes next may tell
                best = self._without_last_number(buffer, longer, latest) if goes_on is None else best
                break
            if latest.open_at is not None and self.reader.closing not in later.text:
                longer = longer.with_later(later)
                continue
            longer, latest = self._joined(longer, later)
            if latest.open_at is not None:
                continue
            if not _reaches(latest, longer):
                break
            if not latest.may_go_on:
                return longer, latest
            best = (longer, latest)
        return best or _cut(window, finding, at_end=at_end)

    def _joined(self, window: Window, later: Segment) -> tuple[Window, Finding]:
        """The window with the line after it: as it is, without blanks, or with one, whichever reads further."""
        longer = window.with_later(later)
        finding = self.reader.find(longer.text)
        if finding.open_at is not None or _reaches(finding, longer):
            return longer, finding
        for glue in (Glue.BARE, Glue.BLANK):
            other = Window.of(*longer.segments, glue=glue)
            found = self.reader.find(other.text)
            if found.open_at is not None or _reaches(found, other):
                return other, found
        return longer, finding

    def settle(self, buffer: Buffer, *, beside: bool) -> None:
        """Search the rest by the fewest marks that would have led to every record so far.

        `beside`: also for the lines that bear on records, because the log's head speaks of what prints them.
        """
        reader = self.reader
        self.sure = not self.joined and not self._unsure
        marks = reader.sure_needles if self.sure else reader.needles
        everywhere = [mark for mark in marks if self._marked.get(mark) == self._noted]
        # Where lines are wrapped, a second mark finds the record in which the wrap cuts the first: one far from it.
        enough = everywhere[:1] if self.sure else self._far_apart(everywhere) if len(everywhere) > 1 else []
        needles = (*(enough or marks), *(reader.needles_beside if beside else ()))
        pattern = reader.sure_pattern if self.sure else None if self._unmatched else reader.wrapped_pattern
        if (needles, pattern) != (self.needles, self.pattern):
            self.needles, self.pattern = needles, pattern
            self._search_again(buffer)

    def _far_apart(self, marks: list[bytes]) -> list[bytes]:
        """The first and the last of the marks in the record noted last."""
        places = sorted((self._places[mark], mark) for mark in marks)
        return [places[0][1], places[-1][1]]

    def _search_again(self, buffer: Buffer) -> None:
        """Go back to the beginning of the line in which the search stands, by other marks now."""
        floor = max(self.consumed, self.position - MAX_SEGMENT, buffer.base)
        line = max(buffer.rfind(b"\n", floor, self.position), buffer.rfind(b"\r", floor, self.position)) + 1
        self.position = max(floor, line)
        self._hits.clear()
        self._searched.clear()

    def _leading(self, buffer: Buffer, segments: tuple[Segment, ...]) -> bytes:
        """Those of a record's lines by which it is found: a line may hold a mark, and alone show no record."""
        if len(segments) == 1:
            return buffer.piece(segments[0].start, segments[0].end)
        leading = (one for one in segments if self.reader.find(one.text).tells)
        return b"\n".join(buffer.piece(one.start, one.end) for one in leading)

    def _note_marks(self, lines: bytes) -> None:
        """Note which marks would have led to these lines."""
        sure, wrapped = self.reader.sure_pattern, self.reader.wrapped_pattern
        here = [mark for mark in {*self.reader.sure_needles, *self.reader.needles} if mark in lines]
        self._noted += 1
        self._marked.update({mark: self._marked.get(mark, 0) + 1 for mark in here})
        self._places = {mark: lines.find(mark) for mark in here}
        self._unsure += not (sure.search(lines) if sure else any(mark in here for mark in self.reader.sure_needles))
        self._unmatched += wrapped is not None and wrapped.search(lines) is None

    def _number_goes_on(self, buffer: Buffer, window: Window, later: Segment) -> bool | None:
        """Whether a line may go on with the number that ends the one before it; None where that is open.

        A next line of digits alone counts only where something wrapped the log at the width of this line.
        """
        text = continuation(later.text, window.lead).partition("[repeated ")[0].strip()
        text = text.partition('"')[0].strip() if "docker" in window.lead else text
        digits = _DIGITS.match(text)
        if digits is None or re.compile(self.reader.separator).match(text, digits.end()):
            return True
        is_glued = text[digits.end() : digits.end() + 1].isalpha()  # then another writer may have added the digits
        wrapped = is_wrapped(buffer, window.segments[-1]) if digits.end() == len(text) or is_glued else False
        return None if wrapped and is_glued else wrapped

    def _take(self, buffer: Buffer, window: Window, finding: Finding) -> None:
        self.joined += len(window.segments) > 1 and bool(finding.parts)
        if not self.sure and self._noted < _ENOUGH and any(part.kind not in _BESIDE for part in finding.parts):
            self._note_marks(self._leading(buffer, window.segments))
        for part in finding.parts:
            self.found += 1
            for step in self.reader.take(part, window.spot(buffer, self.file, part.start)):
                self.on_step(step)
        for part in finding.broken:
            if self.on_another_broken(1):
                continue
            self.on_broken(part, window.spot(buffer, self.file, part.start), window.text)
        if finding.fragment and not finding.parts and not self.reader.knows(window.text):
            tail = Part(kind="fragment", index=None, values={}, start=0, end=len(window.text))
            self.on_broken(tail, window.spot(buffer, self.file, 0), window.text)


def _reaches(finding: Finding, window: Window) -> bool:
    """Whether the last record goes on into the window's last line."""
    return bool(finding.parts) and finding.parts[-1].end > window.offsets[-1]


def _cut(window: Window, finding: Finding, *, at_end: bool) -> tuple[Window, Finding]:
    """The finding with its open record counted as one that cannot be read."""
    if not finding.open_is_sure:
        return window, replace(finding, open_at=None)
    kind = "truncated" if at_end else "cut"
    begun = Part(kind=kind, index=None, values={}, start=finding.open_at or 0, end=len(window.text))
    return window, Finding(parts=finding.parts, broken=(*finding.broken, begun), fragment=finding.fragment)
