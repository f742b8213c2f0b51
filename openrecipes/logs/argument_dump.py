"""The trainer's own arguments, from the dump that Megatron-LM and slime print at the start."""

import re
from dataclasses import dataclass, field

from openrecipes.logs.segments import MAX_SEGMENT, Buffer, segments_of
from openrecipes.logs.text import split_prefix

_BEGIN, _END = b" arguments -----", b"end of arguments"
_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*) (\.*) ?(.*)")
_MAX_DUMP = 512 * 1024
_MAX_ARGUMENTS = 5000
_LOOK_FOR = 1 << 26
"""Offset up to which a dump is looked for: it is printed before the first step."""


@dataclass(slots=True)
class ArgumentDump:
    """Arguments by name, as printed; the first dump of a stream counts."""

    values: dict[str, str] = field(default_factory=dict)
    _position: int = 0

    def scan(self, buffer: Buffer) -> int:
        """Read a dump where the buffer holds one; the offset from which the stream is still needed."""
        if self.values or self._position > _LOOK_FOR:
            return buffer.end
        at = buffer.find(_BEGIN, self._position)
        if at < 0:
            self._position = max(self._position, buffer.end - len(_BEGIN) + 1)
            return self._position
        stop = buffer.find(_END, at, at + _MAX_DUMP)
        if stop < 0 and not buffer.is_last and buffer.end - at < _MAX_DUMP:
            return at
        region = buffer.piece(at, stop if stop >= 0 else at + _MAX_DUMP)
        self._position = at + len(_BEGIN)
        self._read(region[region.find(b"\n") + 1 :] if b"\n" in region else b"", is_whole=stop >= 0)
        return self._position

    def _read(self, region: bytes, *, is_whole: bool) -> None:
        """Take the region's lines; where the dump has no end, only up to the first lines that are none of it."""
        strange = 0
        for text in segments_of(region):
            match = _LINE.fullmatch(split_prefix(text)[2].strip())
            if match is None or (not match.group(2) and len(match.group(1)) < 46):
                strange += 1
                if strange > 20 and not is_whole:
                    return
            elif len(self.values) < _MAX_ARGUMENTS:
                self.values.setdefault(match.group(1), match.group(3).strip()[:MAX_SEGMENT])
