"""The lines that one record may lie on, joined as they were before something wrapped them."""

from dataclasses import dataclass
from enum import Enum

from openrecipes.logs.reader import Spot
from openrecipes.logs.segments import Buffer, Segment
from openrecipes.logs.text import clock_s, continuation, split_prefix

_ESCAPED = frozenset('"/nrt')


class Glue(Enum):
    """How wrapped lines are joined: as they are, without the blanks around them, or with one between them."""

    EXACT = "exact"
    BARE = "bare"
    BLANK = "blank"


@dataclass(frozen=True, slots=True)
class Window:
    """One line, or neighbouring lines joined as they were before something wrapped them."""

    segments: tuple[Segment, ...]
    offsets: tuple[int, ...]
    text: str
    lead: tuple[str, ...]
    writer: str
    glue: Glue = Glue.EXACT

    @classmethod
    def of(cls, *segments: Segment, glue: Glue = Glue.EXACT) -> "Window":
        """Segments joined as `glue` says. Whatever wrapped them may have cut inside a word or a number."""
        lead, writer, _ = split_prefix(segments[0].text)
        bare = glue is not Glue.EXACT and len(segments) > 1
        text = segments[0].text.rstrip(" \t") if bare else segments[0].text
        offsets = [0]
        for segment in segments[1:]:
            text, later = _unescaped(text, continuation(segment.text, lead))
            offsets.append(len(text))
            text += (" " if glue is Glue.BLANK else "") + (later.strip(" \t") if bare else later)
        return cls(segments, tuple(offsets), text, lead, writer, glue)

    @property
    def has_own_prefix(self) -> bool:
        """Whether the first line begins as a program's own line does, so that no record can reach into it."""
        return "clock" in self.lead

    def with_later(self, segment: Segment) -> "Window":
        """This window and the line after it."""
        if self.glue is not Glue.EXACT:
            return Window.of(*self.segments, segment, glue=self.glue)
        text, later = _unescaped(self.text, continuation(segment.text, self.lead))
        segments, offsets = (*self.segments, segment), (*self.offsets, len(text))
        return Window(segments, offsets, text + later, self.lead, self.writer, self.glue)

    def spot(self, buffer: Buffer, file: str, start: int) -> Spot:
        """Where the record that begins at an offset of the text stands."""
        index = max(i for i, offset in enumerate(self.offsets) if offset <= max(start, 0))
        line = buffer.line(max(self.segments[index].start, buffer.base))
        return Spot(file=file, line=line, writer=self.writer, timestamp_s=clock_s(self.text, start))


def _unescaped(text: str, later: str) -> tuple[str, str]:
    """Both texts without the escape of a JSON-wrapping collector that a wrap cut in two."""
    if not text.endswith("\\") or later[:1] not in _ESCAPED:
        return text, later
    return text[:-1], later if later[0] in '"/' else f" {later[1:]}"
