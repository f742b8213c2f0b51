"""Private values in the files of a bundle: found, or replaced by stand-ins that keep the file readable.

Scanner(words).in_lines(lines)     -> each line of a file with its private values
Redactor(words).redacted(lines)    -> the lines with stand-ins, the same one for the same value throughout a bundle
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from openrecipes.evidence.patterns import COMMON, KEY_END, PATTERNS, Kind, Pattern, is_private

_SHORTEST_WORD: Final = 4
_LINES: Final = 256
_EXAMPLE_NETS: Final = ("192.0.2", "198.51.100", "203.0.113")  # RFC 5737: addresses of nobody


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivateValue:
    """A private value: what it is, and from where to where in its line it stands."""

    kind: Kind
    value: str
    start: int
    end: int

    @property
    def shown(self) -> str:
        """The value for a message: of a secret only its beginning."""
        return f"{self.value[:4]}…" if self.kind == "secret" else self.value


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownWords:
    """Hosts and users of the runs and of the machine that packs, looked for wherever they stand."""

    hosts: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()

    def patterns(self) -> Iterator[Pattern]:
        """One pattern a kind that has words worth looking for: short and common ones would match anything."""
        kinds: tuple[tuple[Kind, frozenset[str]], ...] = (("host", self.hosts), ("user", self.users))
        for kind, words in kinds:
            telling = sorted((word for word in words if _tells(word)), key=lambda word: (-len(word), word))
            if telling:
                regex = re.compile(rf"(?<![\w-])(?P<value>{'|'.join(map(re.escape, telling))})(?![\w-])")
                yield Pattern(kind, tuple(word.lower() for word in telling), regex)


NO_WORDS: Final = KnownWords()


def _tells(word: str) -> bool:
    return len(word) >= _SHORTEST_WORD and word.lower() not in COMMON and not word.isdigit()


class Scanner:
    """Goes through one file block by block; within a private key, every line is one."""

    def __init__(self, words: KnownWords = NO_WORDS) -> None:
        self._patterns = (*PATTERNS, *words.patterns())
        self._in_key = False

    def in_line(self, line: str) -> tuple[PrivateValue, ...]:
        """The private values of the file's next line in order, none inside another."""
        return next(self.in_lines([line]))[1]

    def in_lines(self, lines: Iterable[str]) -> Iterator[tuple[str, tuple[PrivateValue, ...]]]:
        """Each next line of the file with its private values. Patterns that a whole block lacks are not asked again."""
        rest = iter(lines)
        while block := list(islice(rest, _LINES)):
            text = "".join(block)
            lowered = text.lower()
            patterns = [one for one in self._patterns if one.may_match(lowered) and one.regex.search(text)]
            for line in block:
                yield line, self._found(line, patterns)

    def _found(self, line: str, patterns: Sequence[Pattern]) -> tuple[PrivateValue, ...]:
        if self._in_key:
            self._in_key = not KEY_END.search(line)
            text = line.strip()
            start = line.index(text)
            return (PrivateValue(kind="secret", value=text, start=start, end=start + len(text)),) if text else ()
        found = tuple(_apart(line, patterns)) if patterns else ()
        self._in_key = any(one.value.startswith("-----BEGIN") for one in found) and not KEY_END.search(line)
        return found


def _apart(line: str, patterns: Sequence[Pattern]) -> Iterator[PrivateValue]:
    """Private values of a line from left to right; of two that overlap, the one that begins first."""
    found = [
        PrivateValue(kind=one.kind, value=match["value"], start=match.start("value"), end=match.end("value"))
        for one in patterns
        for match in one.regex.finditer(line)
        if is_private(one.kind, match["value"])
    ]
    last = 0
    for value in sorted(found, key=lambda value: (value.start, -value.end)):
        if value.start >= last:
            last = value.end
            yield value


@dataclass(kw_only=True)
class Redactor:
    """Replaces private values; equal ones get equal stand-ins, numbered in the order in which they are met."""

    words: KnownWords
    replaced: Counter[Kind] = field(default_factory=Counter)
    _stand_ins: dict[Kind, dict[str, str]] = field(default_factory=dict)

    def redacted(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines of one file with stand-ins; those without anything private as they are."""
        for line, values in Scanner(self.words).in_lines(lines):
            pieces, done = [], 0
            for found in values:
                self.replaced[found.kind] += 1
                pieces += [line[done : found.start], self.stand_in(found.kind, found.value)]
                done = found.end
            yield "".join((*pieces, line[done:])) if pieces else line

    def stand_in(self, kind: Kind, value: str) -> str:
        """What stands for a private value."""
        if kind == "path":
            folder, slash, name = value.rpartition("/")
            inner = self._of_name(name)
            return f"{self._numbered('path', folder, '/redacted/path-{}')}{slash}{inner}"
        if kind == "address" and ":" not in value:
            return self._numbered("address", value, "address")
        return self._numbered(kind, value, f"redacted-{kind}-{{}}")

    def _of_name(self, name: str) -> str:
        """The last part of a path, which may hold a user or a host in turn."""
        return "".join(Redactor(words=self.words, _stand_ins=self._stand_ins).redacted([name])) if name else ""

    def _numbered(self, kind: Kind, value: str, form: str) -> str:
        known = self._stand_ins.setdefault(kind, {})
        if value not in known:
            number = len(known) + 1
            known[value] = _address(number) if form == "address" else form.format(number)
        return known[value]


def _address(number: int) -> str:
    """The so-manieth address of the nets for examples, so that readers of addresses still find one."""
    net, host = divmod(number - 1, 254)
    return f"{_EXAMPLE_NETS[net % 3]}.{host + 1}" if net < 3 else f"redacted-address-{number}"
