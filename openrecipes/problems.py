"""A located complaint, and the exceptions that carry complaints up to the command line.

A problem is something that the user must mend. A bug is any other exception.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Final, Literal, TypedDict, TypeVar, overload

_A = TypeVar("_A")
_B = TypeVar("_B")
_C = TypeVar("_C")
Severity = Literal["error", "warning"]
# Digits in a key are few, and Python turns no longer ones than 4,300 into a number.
_WORD_AND_NUMBER: Final = re.compile(r"([^0-9]*)([0-9]{0,18})")


class ProblemDocument(TypedDict):
    """A problem as `--json` prints it."""

    file: str
    line: int | None
    key: str
    rule: str
    severity: Severity
    what: str
    mend: str


def printable(text: str) -> str:
    """The text in one line, control characters as escapes: a file's values must not steer a reader's terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where something stands: a file as the user named it (or an option), a line from 1, a key; each may be unknown."""

    file: str = ""
    line: int | None = None
    key: str = ""

    def __str__(self) -> str:
        if self.file.startswith("--") and self.line is None:  # an option, and what it sets
            return f"{self.file} {self.key}".rstrip()
        parts = [self.file, "" if self.line is None else str(self.line), self.key]
        return ":".join(part for part in parts if part)


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """What is wrong, where, and what to change. `what` holds the user's own values as written."""

    place: Place
    rule: str
    what: str
    mend: str
    severity: Severity = "error"

    def __str__(self) -> str:
        where = f"{self.place}: " if str(self.place) else ""
        warning = "warning: " if self.severity == "warning" else ""
        return f"{printable(f'{where}{warning}{self.what}')}\n  mend: {printable(self.mend)}   [{self.rule}]"

    def document(self) -> ProblemDocument:
        """The problem as plain data, for `--json`."""
        return {
            "file": self.place.file,
            "line": self.place.line,
            "key": self.place.key,
            "rule": self.rule,
            "severity": self.severity,
            "what": self.what,
            "mend": self.mend,
        }


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems by file, then line (none first), then key, `row 9` before `row 10`; equal ones once."""
    unique = dict.fromkeys(problems)
    return tuple(
        sorted(unique, key=lambda p: (p.place.file, p.place.line or 0, _key_order(p.place.key), p.rule, p.what))
    )


def _key_order(key: str) -> tuple[tuple[str, int], ...]:
    """A key's words and numbers, each number by its size."""
    return tuple((word, int(digits or 0)) for word, digits in _WORD_AND_NUMBER.findall(key))


def errors_in(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Only the errors, in the given order."""
    return tuple(problem for problem in problems if problem.severity == "error")


# One wrong letter of four; below it a guess is more often wrong than right.
_ALIKE: Final = 0.75


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` most likely meant, a slip or two away; or None. Dashes in front count for nothing."""
    bare = {item.lstrip("-"): item for item in known}
    matches = get_close_matches(name.lstrip("-"), bare, n=1, cutoff=_ALIKE)
    return bare[matches[0]] if matches else None


class ProblemsError(Exception):
    """Ends a verb with problems that the user must mend, in file and line order whoever found them."""

    exit_status: ClassVar[int] = 1

    def __init__(self, *problems: Problem) -> None:
        self.problems = in_order(problems)
        self.beside: Mapping[str, object] = {}  # what `--json` prints of the verb's keys before the problems
        super().__init__("\n".join(map(str, self.problems)))


class UsageError(ProblemsError):
    """The call itself is wrong: an unknown name, options that exclude each other, a file that cannot be read."""

    exit_status = 2


class OutsideError(ProblemsError):
    """An outside program or service failed."""

    exit_status = 3


def unreadable(file: str, reason: str, mend: str = "name a file that exists and that you may read") -> UsageError:
    """The error for an input file that is missing or cannot be read."""
    return UsageError(Problem(place=Place(file=file), rule="file-readable", what=reason, mend=mend))


@overload
def together(first: Callable[[], _A], second: Callable[[], _B], /) -> tuple[_A, _B]: ...
@overload
def together(first: Callable[[], _A], second: Callable[[], _B], third: Callable[[], _C], /) -> tuple[_A, _B, _C]: ...
@overload
def together(*reads: Callable[[], _A]) -> tuple[_A, ...]: ...
def together(*reads: Callable[[], Any]) -> tuple[Any, ...]:
    """What each input is read as, in the given order; all are read, whichever of them is wrong.

    Raises: the error of the highest exit status, with the problems of all inputs.
    """
    found: list[Any] = []
    errors: list[ProblemsError] = []
    for read in reads:
        try:
            found.append(read())
        except ProblemsError as error:
            errors.append(error)
    if not errors:
        return tuple(found)
    worst = max(errors, key=lambda error: error.exit_status)
    raise type(worst)(*(problem for error in errors for problem in error.problems)) from worst
