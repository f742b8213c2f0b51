"""Lines of a log that say something worth noting, found by the literal texts they hold, as the log streams past."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from openrecipes.logs.sources import chunks, damage, log_files, opened
from openrecipes.logs.text import clock_s, continuation, decoded, split_prefix

Note = TypeVar("Note")

REACH: Final = 4 * 1024
"""Of an endless line, so many bytes to either side of a hit are looked at."""
_CONTEXT: Final = 8 * 1024
_NEAR: Final = 2 * 1024
_LINES_NEAR: Final = 600
_NARROWEST: Final = 40
"""No terminal that wraps a log is narrower."""
_MOST_LINES: Final = 3
_BEGINS_ANEW: Final = frozenset({"clock", "ray"})
"""Prefixes of a program's own lines: what a terminal wrapped goes on without them."""
_OVERLAP: Final = 1024
_BREAKS: Final = b"\r\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage(Generic[Note]):
    """One noted line: what was noted, and where it stands.

    `text` is the line under prefixes and colours, `writer` who the prefix says wrote it ("" if unsaid), `before`
    the two lines in front of it. `stamp_s` is the log's own last time stamp up to here, counted as if UTC.
    """

    note: Note
    file: str
    line: int
    text: str
    writer: str
    before: str
    stamp_s: float | None


class PassageScanner(Generic[Note]):
    """Feed it a log's bytes as they come; each call answers with the passages that these bytes completed.

    `stems` are literals of which every line of interest holds one; `noted` says what a line says, or None.
    A text that a terminal wrapped is looked at together with the line it goes on in.
    """

    def __init__(self, file: str, stems: Sequence[bytes], noted: Callable[[str], Note | None]) -> None:
        self._file = file
        self._stems = tuple(stems)
        self._noted = noted
        self._data = b""
        self._position = 0  # in _data: what lies before it was looked at
        self._first_line = 1  # the number of the line in which _data begins
        self._line = (0, 1)  # an offset in _data and its line number, to count on from
        self._looked_at = -1  # end of the last line that was looked at, with the one after it where it was wrapped
        self.last_stamp_s: float | None = None

    def feed(self, data: bytes) -> list[Passage[Note]]:
        """Passages that `data` completed, in the log's order."""
        self._data = self._data + data if self._data else data
        broken_off = max(self._data.rfind(b"\n"), self._data.rfind(b"\r")) + 1
        limit = broken_off if len(self._data) - broken_off <= 2 * REACH else len(self._data) - _OVERLAP
        found = list(self._scan(max(limit, self._position), is_last=False))
        self._forget()
        return found

    def close(self) -> list[Passage[Note]]:
        """Passages in what is left when the log ends."""
        return list(self._scan(len(self._data), is_last=True))

    def newest_stamp_s(self) -> float | None:
        """The log's own time at what was fed last, or None where it does not say near there."""
        return clock_s(decoded(self._data[-_CONTEXT:]))

    def last_text(self) -> str:
        """The last line so far that is not blank, with its prefix."""
        lines = decoded(self._data[-_CONTEXT:]).splitlines()
        return next((line for line in reversed(lines) if line.strip()), "")

    def _forget(self) -> None:
        cut = self._position - _CONTEXT
        if cut > 0:
            line = self._line_at(cut)
            self._data = self._data[cut:]
            self._position -= cut
            self._first_line, self._line = line, (0, line)
            self._looked_at -= cut

    def _scan(self, limit: int, *, is_last: bool) -> Iterator[Passage[Note]]:
        hits: dict[bytes, int] = {}
        while self._position < limit:
            hit = self._next_hit(hits, limit)
            if hit is None:
                self._position = limit
                return
            start, end = self._segment(hit, limit)
            text = decoded(self._data[start:end])
            note, text = self._read(text, start, end, limit)
            if note is None and not is_last and self._may_go_on(start, end, limit):
                self._position = start
                return
            if note is not None:
                yield self._passage(note, text, start, end)
            is_cut = end - hit >= REACH
            self._position = max(end - REACH // 2 if is_cut else end, hit + 1)
            self._looked_at = end

    def _next_hit(self, hits: dict[bytes, int], limit: int) -> int | None:
        """Offset of the nearest stem at or after the position."""
        for stem in self._stems:
            if hits.get(stem, -1) < self._position and hits.get(stem) != limit:
                found = self._data.find(stem, self._position, limit)
                hits[stem] = found if found >= 0 else limit
        nearest = min(hits.values())
        return nearest if nearest < limit else None

    def _segment(self, hit: int, limit: int) -> tuple[int, int]:
        """Start and end of the text between two line breaks around a hit, cut where it is endless."""
        low = max(self._position, hit - REACH)
        start = max(self._data.rfind(b"\n", low, hit), self._data.rfind(b"\r", low, hit)) + 1 or low
        high = min(hit + REACH, len(self._data))
        feed = self._data.find(b"\n", hit, high)
        back = self._data.find(b"\r", hit, high if feed < 0 else feed)
        end = back if back >= 0 else feed if feed >= 0 else high
        return start, min(end, max(limit, hit + 1))

    def _read(self, text: str, start: int, end: int, limit: int) -> tuple[Note | None, str]:
        """What the line says with the line that it goes on in, else alone, else with the line that it comes from."""
        rest = split_prefix(text)[2]
        alone = self._noted(rest)
        if self._is_wrapped(start, end):
            note, joined = self._joined(text, self._text_after(end, limit, end - start), but=alone)
            if note is not None:
                return note, joined
        earlier = self._line_before(start)
        # A candidate right above was looked at together with this line already.
        if alone is not None or earlier is None or earlier[1] == self._looked_at or not self._is_wrapped(*earlier):
            return alone, rest
        note, joined = self._joined(decoded(self._data[earlier[0] : earlier[1]]), text, but=None)
        return (None, rest) if note is None else (note, joined)

    def _joined(self, first: str, second: str, *, but: Note | None) -> tuple[Note | None, str]:
        """What two lines say as one, other than `but`: joined as they are, without blanks between, or with one."""
        lead, _, head = split_prefix(first)
        kinds, _, rest = split_prefix(second)
        apart = self._noted(rest)
        if not second or not _BEGINS_ANEW.isdisjoint(kinds) or (apart is not None and but is None):
            return None, head  # the second begins anew, or speaks for itself
        tail = continuation(second, lead)
        bare, end = head.rstrip(), tail.strip()
        for text in (head + tail, bare + end, f"{bare} {end}"):
            note = self._noted(text)
            if note is not None and note != but and apart in (None, note):
                return note, text
        return None, head

    def _line_before(self, start: int) -> tuple[int, int] | None:
        end = start
        while end > 0 and self._data[end - 1] in _BREAKS:
            end -= 1
        if end in {0, start}:
            return None
        low = max(0, end - REACH)
        begin = max(self._data.rfind(b"\n", low, end), self._data.rfind(b"\r", low, end)) + 1 or low
        return begin, end

    def _text_after(self, end: int, limit: int, width: int) -> str:
        """The next line, and what it goes on in where it is as wide as what was wrapped; "" where none goes on."""
        text = ""
        for _ in range(_MOST_LINES):
            at = self._next_line(end, limit)
            ends = (self._data.find(mark, at, limit) for mark in (b"\n", b"\r"))
            stop = min((found for found in ends if found >= 0), default=limit)
            line = decoded(self._data[at : min(stop, at + REACH)])
            if not _BEGINS_ANEW.isdisjoint(split_prefix(line)[0]):
                break
            text += line
            if stop - at != width:
                break
            end = stop
        return text

    def _next_line(self, end: int, limit: int) -> int:
        while end < limit and self._data[end] in _BREAKS:
            end += 1
        return end

    def _may_go_on(self, start: int, end: int, limit: int) -> bool:
        """Whether a wrapped text may go on in a line that is still to come."""
        is_last = self._data[end : end + 1] in (b"\n", b"\r") and self._next_line(end, limit) >= limit
        return is_last and self._is_wrapped(start, end)

    def _is_wrapped(self, start: int, end: int) -> bool:
        """Whether no line near this one is longer and some are as long, as where a terminal wrapped them."""
        own = end - start
        if own < _NARROWEST:
            return False
        near = self._data[max(0, start - _NEAR) : end + _NEAR].replace(b"\r", b"\n").split(b"\n")
        lengths = [len(line) for line in near[1:-1]] if len(near) > 2 else [len(line) for line in near]
        return max(lengths, default=own) <= own and lengths.count(own) > 1

    def _passage(self, note: Note, text: str, start: int, end: int) -> Passage[Note]:
        around = decoded(self._data[max(0, start - _CONTEXT) : end])
        stamp = clock_s(around)
        self.last_stamp_s = stamp if stamp is not None else self.last_stamp_s
        earlier = _last_lines(around)
        return Passage(
            note=note,
            file=self._file,
            line=self._line_at(start),
            text=text,
            writer=split_prefix(decoded(self._data[start:end]))[1],
            before="\n".join(split_prefix(line)[2] for line in earlier),
            stamp_s=self.last_stamp_s,
        )

    def _line_at(self, offset: int) -> int:
        at, line = self._line if self._line[0] <= offset else (0, self._first_line)
        line += self._data.count(b"\n", at, offset)
        self._line = (offset, line)
        return line


def _last_lines(text: str) -> list[str]:
    """The last two lines that are not blank, without the very last."""
    earlier: list[str] = []
    for reach in (_LINES_NEAR, len(text)):
        lines = text[-reach:].splitlines()
        whole = lines[:-1] if reach >= len(text) else lines[1:-1]
        earlier = [line for line in whole if line.strip()][-2:]
        if len(earlier) > 1:
            break
    return earlier


def passages(
    sources: Sequence[str], stems: Sequence[bytes], noted: Callable[[str], Note | None]
) -> Iterator[Passage[Note]]:
    """The passages of a run's logs, file after file; what follows damage in a compressed file is left out.

    Memory does not grow with the size of the logs. Raises: UsageError for a file that cannot be read.
    """
    for file in log_files(sources):
        scanner = PassageScanner(file, stems, noted)
        with opened(file) as stream:
            try:
                for chunk in chunks(stream):
                    yield from scanner.feed(chunk)
            except Exception as error:
                if damage(error) is None:
                    raise
        yield from scanner.close()
