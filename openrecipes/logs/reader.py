"""What a reader of one log format gives, and the marks by which the scan finds its records."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from openrecipes.logs.step import StepRecord
from openrecipes.problems import Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One record found in a text, not yet placed: `start` and `end` are offsets into that text."""

    kind: str
    index: int | None
    values: Mapping[str, float | str]
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What a text holds of one format.

    `open_at`: a record begins there and the text ends before the record does; `open_is_sure`: so much of it
    is there that it is a record and nothing that looks like one. `may_go_on`: the last record is
    whole as it stands, but the next line may belong to it. `broken`: records that begin and cannot be read.
    `ends_in_number`: nothing ends the last number but the text. `fragment`: the text holds the tail of a record
    that begins earlier.
    """

    parts: tuple[Part, ...] = ()
    open_at: int | None = None
    open_is_sure: bool = True
    may_go_on: bool = False
    ends_in_number: bool = False
    broken: tuple[Part, ...] = ()
    fragment: bool = False

    @property
    def tells(self) -> bool:
        """Whether the text holds anything of the format at all."""
        return (
            bool(self.parts or self.broken or self.fragment or self.may_go_on or self.ends_in_number)
            or self.open_at is not None
        )

    @property
    def is_broken_alone(self) -> bool:
        """Whether all that the text holds are records that begin and cannot be read."""
        more = self.parts or self.fragment or self.may_go_on or self.ends_in_number or self.open_at is not None
        return bool(self.broken) and not more


_CHANGED = rb"[\x00-\x08\x1b-\x1f\\&\x7f-\xff]|\^\[|\[[0-9;]{1,11}m"
"""What a line holds where its text is not its bytes: escapes, entities, characters beyond ASCII."""


def signs(*patterns: bytes) -> re.Pattern[bytes]:
    """A pattern for `Reader.telling` from those that a line of plain ASCII must match for `find` to find anything."""
    return re.compile(b"|".join((_CHANGED, *patterns)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Spot:
    """Where a part stands: file, line from 1, who wrote the line ("" if unsaid), the log's own time there."""

    file: str
    line: int
    writer: str = ""
    timestamp_s: float | None = None


class Reader(Protocol):
    """One log format. `find` looks at a text and remembers nothing; `take` and `finish` turn parts into steps."""

    name: str
    is_marked: bool = True
    """Whether the log holds something of this format's own; False lets a format with the same records go first."""
    averages_over_interval: bool = False
    """Whether a record stands for all steps since the one before it."""
    needles: tuple[bytes, ...]
    """Each record, even a wrapped one, holds at least one of these on one line."""
    sure_needles: tuple[bytes, ...]
    """Fewer and longer ones, for logs whose records are whole lines."""
    needles_beside: tuple[bytes, ...] = ()
    """What else is searched for then: lines that are no records but bear on them."""
    beside_signs: tuple[bytes, ...] = ()
    """What the head of a log holds if such lines can come later in it."""
    sure_pattern: re.Pattern[bytes] | None = None
    """Instead of them, a pattern whose first byte is rare in logs, which is faster than two needles."""
    wrapped_pattern: re.Pattern[bytes] | None = None
    """Instead of `needles`, once a sample has shown that each record holds it."""
    arguments: Mapping[str, str]
    """The trainer's own arguments, as far as the log has printed them."""
    telling: re.Pattern[bytes]
    """Matches in every line in which `find` finds anything; made by `signs`."""
    closing: str = ""
    """What the line that ends a record holds; "" where no one sign ends it."""
    separator: str = r"\|"
    """What follows a number in the middle of a record: by it, a number that a wrap cut is put together."""
    problems: list[Problem]

    def find(self, text: str) -> Finding:
        """What the text holds."""

    def take(self, part: Part, spot: Spot) -> Iterable[StepRecord]:
        """The steps that this part completes, in the log's order."""

    def knows(self, text: str) -> bool:
        """Whether the tail of a record in this text repeats a record that was taken before."""

    def finish(self) -> Iterable[StepRecord]:
        """The steps still waiting at the end of the log."""


NOTHING = Finding()


@dataclass(kw_only=True, slots=True)
class Seen:
    """Records seen so far, to tell a copy (a failed job's tail printed twice) from a repeated step."""

    stamps: dict[int, float | None] = field(default_factory=dict)

    def is_copy(self, part: Part, timestamp_s: float | None) -> bool:
        """Whether a record of the same kind, number and values came before, at the same time where both say one."""
        identity = hash((part.kind, part.index, tuple(part.values.items())))
        if identity not in self.stamps:
            self.stamps[identity] = timestamp_s
            return False
        earlier = self.stamps[identity]
        return earlier is None or timestamp_s is None or earlier == timestamp_s
