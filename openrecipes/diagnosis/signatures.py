"""The table of signatures: what trouble looks like in one line of a log, read from signatures.yaml."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from math import prod
from pathlib import Path
from typing import Annotated, Final

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

TABLE_FILE: Final = Path(__file__).resolve().parent / "signatures.yaml"
_SHOWN: Final = 2000
"""Of a long line, so much from a little before the literal on is searched for a pattern."""
_LEAD: Final = 600
_MOST_STEPS: Final = 40_000


class Kind(StrEnum):
    """What a signature says about a run."""

    CAUSE = "cause"
    EXCEPTION = "exception"
    SYMPTOM = "symptom"
    STOP = "stop"
    OUTSIDE = "outside"
    ECHO = "echo"
    END = "end"
    INVALID = "invalid"
    WARNING = "warning"


class Mark(StrEnum):
    """What a line says about how to read the others."""

    SUCCEEDED = "succeeded"
    TRACEBACK = "traceback"
    TASK_ERROR = "task_error"
    IGNORED = "ignored_exception"
    RANK_OF_PROCESS = "rank_of_process"


def _bounded(pattern: str) -> str:
    """The pattern, if no text can make it slow.

    Raises: ValueError at a repetition without an end or of a group, or where long repetitions multiply.
    """
    plain = re.sub(r"\\.|\[(?:\\.|[^\]])+\]", lambda found: "x" if found[0][0] == "[" else found[0][:1] + "y", pattern)
    if re.search(r"(?<!\\)[*+]|\{\d*,\}|\)\{", plain):
        raise ValueError(f"{pattern} repeats something without an end, or a group")
    if prod(int(most) for most in re.findall(r"\{\d+,(\d+)\}", plain) if int(most) > 40) > _MOST_STEPS:
        raise ValueError(f"{pattern} may try too many ways to fit")
    re.compile(pattern)
    return pattern


class TableData(BaseModel):
    """Settings that all parts of the table share."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Sign(TableData):
    """One wording."""

    text: str = Field(min_length=3, description="Literal that the line holds.")
    pattern: Annotated[str, AfterValidator(_bounded)] | None = Field(
        default=None, description="Bounded expression that must be found in the line too."
    )
    remedy: str | None = Field(default=None, description="What to do where this wording is met, if that differs.")
    hint: bool = Field(default=False, description="Gives way to a sign of the same class that says more.")

    @cached_property
    def _compiled(self) -> re.Pattern[str] | None:
        return re.compile(self.pattern) if self.pattern else None

    def fits(self, line: str) -> bool:
        """Whether the line holds this wording."""
        at = line.find(self.text)
        if at < 0:
            return False
        if self._compiled is None:
            return True
        start = max(0, at - _LEAD) if len(line) > _SHOWN else 0
        return self._compiled.search(line[start : start + _SHOWN]) is not None


class Trouble(TableData):
    """One class of trouble."""

    name: str = Field(alias="class", pattern=r"^[a-z][a-z0-9_]{2,40}$", description="Name of the class.")
    kind: Kind = Field(description="What it says about the run.")
    means: str = Field(min_length=10, description="What happened, in words.")
    remedy: str = Field(min_length=10, description="What to do about it.")


class Signature(Trouble):
    """Trouble that a single line shows."""

    before_steps_only: bool = Field(default=False, description="Counts only in a run without a step.")
    after_traceback_only: bool = Field(default=False, description="Counts only below a traceback.")
    signs: tuple[Sign, ...] = Field(min_length=1, description="Its wordings.")


class MarkSigns(TableData):
    """The wordings of a mark."""

    mark: Mark = Field(description="What the line says.")
    signs: tuple[Sign, ...] = Field(min_length=1, description="Its wordings.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What one line says: a signature by one of its signs, a mark, or both."""

    signature: Signature | None = None
    sign: Sign | None = None
    mark: Mark | None = None

    @property
    def remedy(self) -> str:
        """What to do, by the wording or its class."""
        return (self.sign and self.sign.remedy) or (self.signature.remedy if self.signature else "")


class Table(TableData):
    """All signatures, in the order in which a line is held against them."""

    stems: tuple[str, ...] = Field(min_length=1, description="Every literal of a sign holds one of these.")
    classes: tuple[Signature, ...] = Field(min_length=1, description="The signatures.")
    computed: tuple[Trouble, ...] = Field(description="Trouble that no single line shows.")
    marks: tuple[MarkSigns, ...] = Field(min_length=1, description="Lines that tell how to read others.")
    not_trouble: tuple[str, ...] = Field(description="Literals of lines that print what people wrote.")

    @model_validator(mode="after")
    def _sound(self) -> "Table":
        names = [trouble.name for trouble in (*self.classes, *self.computed)]
        if len(set(names)) < len(names):
            raise ValueError("two signatures have one name")
        signs = [sign for entry in self.classes for sign in entry.signs] + [
            s for entry in self.marks for s in entry.signs
        ]
        blind = [sign.text for sign in signs if not any(stem in sign.text for stem in self.stems)]
        if blind:
            raise ValueError(f"no stem finds {blind}")
        return self

    def seen(self, line: str) -> Seen | None:
        """What the line says, or None."""
        if any(text in line for text in self.not_trouble):
            return None
        mark = next((entry.mark for entry in self.marks for sign in entry.signs if sign.fits(line)), None)
        for signature in self.classes:
            for sign in signature.signs:
                if sign.fits(line):
                    return Seen(signature=signature, sign=sign, mark=mark)
        return Seen(mark=mark) if mark else None

    def of(self, name: str) -> Trouble:
        """The trouble of this class. Raises: KeyError if there is none."""
        return {trouble.name: trouble for trouble in (*self.classes, *self.computed)}[name]


@lru_cache(maxsize=1)
def table() -> Table:
    """The shipped table; a mistake in it is a bug, so errors pass through."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return Table.model_validate(yaml.load(TABLE_FILE.read_text(encoding="utf-8"), Loader=loader))  # noqa: S506
