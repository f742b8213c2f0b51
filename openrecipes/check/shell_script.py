"""A command's text read as a shell would read it: exports, assignments, and one command with its words."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from openrecipes.check.shell_words import Fault, Word, shell_words

# A text may name an array many times; a command of more words than this is left as it is written.
MAX_WORDS: Final = 20_000

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_WHOLE_VARIABLE: Final = re.compile(r'"?\$\{?([A-Za-z_][A-Za-z0-9_]*)(?:\[@\])?\}?"?')


@dataclass(frozen=True, kw_only=True, slots=True)
class Assignment:
    """`NAME=value` or `NAME=(items)`; the word is the value alone."""

    name: str
    value: Word
    is_exported: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """Assignments, commands with the arrays and variables of the text put in, and faults, all in order."""

    assignments: tuple[Assignment, ...]
    commands: tuple[tuple[Word, ...], ...]
    faults: tuple[Fault, ...]


def read_script(text: str) -> Script:
    """What a command's text says."""
    lines, found = shell_words(text)
    faults = list(found)
    assignments: list[Assignment] = []
    commands: list[tuple[Word, ...]] = []
    values: dict[str, Word] = {}
    for words in lines:
        first = next((i for i, word in enumerate(words) if not _ASSIGNMENT.match(word.raw)), len(words))
        front, rest = words[:first], words[first:]
        new = [_assignment(word, exported=bool(rest)) for word in front]
        if rest and rest[0].raw == "export":
            new += [_assignment(word, exported=True) for word in rest[1:] if _ASSIGNMENT.match(word.raw)]
        elif rest:
            commands.append(_with_values(rest, values))
            # After an open quote nobody can tell what runs.
            if not any(fault.kind == "quotes" for fault in found):
                faults += [_runs(word) for word in commands[-1] if word.runs]
        assignments += new
        values |= {assignment.name: assignment.value for assignment in new}
    faults.sort(key=lambda fault: fault.line)
    return Script(assignments=tuple(assignments), commands=tuple(commands), faults=tuple(faults))


def _assignment(word: Word, *, exported: bool) -> Assignment:
    name, _, text = word.text.partition("=")
    return Assignment(name=name, value=replace(word, text=text, raw=word.raw.partition("=")[2]), is_exported=exported)


def _with_values(words: tuple[Word, ...], values: Mapping[str, Word]) -> tuple[Word, ...]:
    if not values:
        return words
    total = sum(len(value.items) if value and value.items else 1 for value in _values(words, values))
    return tuple(_put_in(words, values)) if total <= MAX_WORDS else words


def _put_in(words: tuple[Word, ...], values: Mapping[str, Word]) -> Iterator[Word]:
    for word, value in zip(words, _values(words, values), strict=True):
        if value is None:
            yield word
        elif value.items is not None:
            yield from value.items
        else:
            yield replace(value, line=word.line)


def _values(words: Iterable[Word], values: Mapping[str, Word]) -> Iterator[Word | None]:
    for word in words:
        match = _WHOLE_VARIABLE.fullmatch(word.raw)
        yield values.get(match[1]) if match else None


def _runs(word: Word) -> Fault:
    shown = " ".join(word.raw.split())
    return Fault(
        kind="substitution",
        line=word.line,
        what=f"{shown if len(shown) <= 60 else f'{shown[:57]}…'} runs a program in the middle of the command",
        mend="write the value out; only an environment variable may be evaluated on the node",
    )
