"""The table of signatures: what trouble looks like in one line of a log, read from signatures.yaml."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from openrecipes.catalog.data_files import parse_yaml

TABLE_FILE: Final = Path(__file__).resolve().parent / "signatures.yaml"
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
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern} is no expression: {error}") from error
    return pattern


class TableData(BaseModel):
    """Settings that all parts of the table share."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Sign(TableData):
    """One wording."""

    text: str = Field(min_length=3, description="Literal that the line holds.")
    one_of: tuple[str, ...] = Field(
        default=(), description="Literals of which the line holds one too, if there are any."
    )
    pattern: Annotated[str, AfterValidator(_bounded)] | None = Field(
        default=None, description="Bounded expression that must be found in the line too."
    )
    remedy: str | None = Field(default=None, description="What to do where this wording is met, if that differs.")
    hint: bool = Field(default=False, description="Gives way to a sign of the same class that says more.")


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


class Recogniser:
    """Holds a line against all signs of a table at once: by their literals first, since few lines hold any."""

    def __init__(self, table: "Table") -> None:
        signs: dict[str, list[_Candidate]] = {}
        order = 0
        for signature in table.classes:
            for sign in signature.signs:
                signs.setdefault(sign.text, []).append(_Candidate(order, sign, Seen(signature=signature, sign=sign)))
                order += 1
        for entry in table.marks:
            for sign in entry.signs:
                signs.setdefault(sign.text, []).append(_Candidate(order, sign, Seen(mark=entry.mark)))
                order += 1
        self._signs = tuple((text, tuple(candidates)) for text, candidates in signs.items())
        self._not_trouble = table.not_trouble

    def __call__(self, line: str) -> Seen | None:
        """What the line says, or None: the first signature of the table that fits, and the first mark."""
        signature, mark = None, None
        for text, candidates in self._signs:
            if text not in line:
                continue
            for candidate in candidates:
                if candidate.seen.mark is not None:
                    mark = mark or (candidate if candidate.fits(line) else None)
                elif (signature is None or candidate.order < signature.order) and candidate.fits(line):
                    signature = candidate
        first = signature or mark
        if first is None or any(text in line for text in self._not_trouble):
            return None
        return replace(first.seen, mark=mark.seen.mark) if mark is not None else first.seen


class _Candidate:
    __slots__ = ("_one_of", "_pattern", "order", "seen")

    def __init__(self, order: int, sign: Sign, seen: Seen) -> None:
        self.order = order
        self.seen = seen
        self._one_of = sign.one_of
        self._pattern = re.compile(sign.pattern) if sign.pattern else None

    def fits(self, line: str) -> bool:
        """Whether a line that holds the sign's text holds the rest of it too."""
        for literal in self._one_of:
            if literal in line:
                break
        else:
            if self._one_of:
                return False
        return self._pattern is None or self._pattern.search(line) is not None


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

    def of(self, name: str) -> Trouble:
        """The trouble of this class. Raises: KeyError if there is none."""
        return {trouble.name: trouble for trouble in (*self.classes, *self.computed)}[name]


@lru_cache(maxsize=1)
def table() -> Table:
    """The shipped table; a mistake in it is a bug, so errors pass through."""
    return Table.model_validate(parse_yaml(TABLE_FILE.read_text(encoding="utf-8")))


@lru_cache(maxsize=1)
def recogniser() -> Recogniser:
    """The shipped table's recogniser."""
    return Recogniser(table())
