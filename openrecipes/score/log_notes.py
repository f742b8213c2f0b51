"""What a log says beside its steps: supervised tokens, what disturbs a step, when start-up came to which point."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from openrecipes.logs.passages import Passage, passages

Moment = Literal["loading", "loaded"]
_MOST_EVENTS: Final = 20_000
_MOST_ROLLOUTS: Final = 1_000_000
_SUPERVISED_KEY: Final = "rollout/response_len/mean"
_SUPERVISED: Final = re.compile(
    r"\bperf (\d{1,12}): \{[^}]{0,400}?'rollout/response_len/mean': (\d{1,12}(?:\.\d{1,20})?)"
)
_ELAPSED: Final = re.compile(r"\(elapsed: (\d{1,9}(?:\.\d{1,9})?)s\)")

# A literal of the line, and what it tells in words.
_EVENTS: Final[Mapping[str, str]] = {
    "Timer save_model end": "a checkpoint save",
    "saving checkpoint at iteration": "a checkpoint save",
    "successfully saved checkpoint": "a checkpoint save",
    "save-checkpoint": "a checkpoint save",
    "checkpoint save for": "a checkpoint save",
    "validation loss at iteration": "an evaluation",
    "evaluate ....": "an evaluation",
    "Timer eval": "an evaluation",
    "recompile_limit": "a recompilation",
    "Recompiling function": "a recompilation",
    "Spilled ": "objects spilled to disk",
    "OVERFLOW! Rank": "a skipped step",
    "has been marked dead": "a node lost",
    "Rank was restarted": "a restart",
}
_MOMENTS: Final[Mapping[str, Moment]] = {
    "loading release distributed checkpoint from": "loading",
    "loading distributed checkpoint from": "loading",
    "loading checkpoint from": "loading",
    "successfully loaded checkpoint from": "loaded",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class LogEvent:
    """Something that may have disturbed a step: where it stands, and what it is in words."""

    file: str
    line: int
    words: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LogNotes:
    """What a log says beside its steps. `supervised` holds the mean supervised tokens a row by rollout.

    `moments` are the log's own first stamps at points of start-up, in seconds as if its clock were UTC.
    """

    supervised: Mapping[int, float] = field(default_factory=dict)
    events: tuple[LogEvent, ...] = ()
    moments: Mapping[Moment, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Supervised:
    rollout: int
    tokens: float


@dataclass(frozen=True, slots=True)
class _Reached:
    moment: Moment


_Note = _Supervised | _Reached | str


NO_NOTES: Final = LogNotes()


def log_notes(sources: Sequence[str]) -> LogNotes:
    """The notes of one run's logs, read as they stream past. Raises: UsageError for a file that cannot be read."""
    supervised: dict[int, float] = {}
    events: list[LogEvent] = []
    moments: dict[Moment, float] = {}
    stems = [text.encode() for text in (_SUPERVISED_KEY, *_EVENTS, *_MOMENTS)]
    found: Iterator[Passage[_Note]] = passages(sources, stems, _noted)
    for passage in found:
        note = passage.note
        if isinstance(note, _Supervised):
            if len(supervised) < _MOST_ROLLOUTS:
                supervised.setdefault(note.rollout, note.tokens)
        elif isinstance(note, _Reached):
            if passage.stamp_s is not None:
                moments.setdefault(note.moment, passage.stamp_s)
        elif len(events) < _MOST_EVENTS:
            events.append(LogEvent(file=passage.file, line=passage.line, words=note))
    return LogNotes(supervised=supervised, events=tuple(events), moments=moments)


def _noted(line: str) -> _Note | None:
    if _SUPERVISED_KEY in line:
        found = _SUPERVISED.search(line)
        return _Supervised(int(found[1]), float(found[2])) if found else None
    for text, moment in _MOMENTS.items():
        if text in line:
            return _Reached(moment)
    for text, words in _EVENTS.items():
        if text in line:
            took = _ELAPSED.search(line)
            return f"{words} of {took[1]} s" if took else words
    return None
