"""What a rule is: a named, pure look at one recipe that finds problems and mends none."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from openrecipes.check.subject import Subject
from openrecipes.problems import Problem, Severity

MAX_MESSAGE: Final = 360


class Section(StrEnum):
    """The parts of docs/rules.md, in order."""

    READING = "Reading the file"
    PLACES = "File name and folder"
    HARDWARE = "Model and GPUs"
    LAYOUT = "Layout"
    DATA = "Rows"
    FIGURES = "Figures"
    EVIDENCE = "Status and evidence"
    WORDS = "Words against fields"
    ENVIRONMENT = "Environment"
    COMMAND = "The command"
    ARGUMENTS = "Trainer arguments"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that a rule found: the recipe's key, what is wrong with its values, what to change."""

    key: str
    what: str
    mend: str
    line: int | None = None  # where it is not the key's own line, as inside the command's text


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A rule with what docs/rules.md says of it; `find` is None where the reader itself reports it."""

    id: str
    section: Section
    says: str
    severity: Severity
    find: Callable[[Subject], Iterator[Finding]] | None

    def problems(self, subject: Subject) -> Iterator[Problem]:
        """Every problem of this rule. Raises: AttributeError where the recipe lacks a field that it reads."""
        for found in self.find(subject) if self.find else ():
            place = subject.located.place(found.key)
            if found.line is not None:
                place = replace(place, line=found.line)
            what, mend = _clipped(found.what), _clipped(found.mend)
            yield Problem(place=place, rule=self.id, severity=self.severity, what=what, mend=mend)


def _clipped(text: str) -> str:
    """A message of a length that a person reads, whatever the file's own values are."""
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"


def rule(
    id: str,  # noqa: A002  (the name that users see)
    section: Section,
    says: str,
    severity: Severity = "error",
) -> Callable[[Callable[[Subject], Iterator[Finding]]], Rule]:
    """Makes the function below it a rule."""
    return lambda find: Rule(id=id, section=section, says=says, severity=severity, find=find)
