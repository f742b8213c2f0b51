"""The trainer's own command-line parser as data, one file a stack; read only when asked for."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from typing import Any, Final, Literal

from pydantic import Field, JsonValue

from openrecipes.catalog.data_files import CATALOG_FOLDER, CatalogData
from openrecipes.problems import Place, Problem, UsageError, nearest

ARGUMENT_FOLDER: Final = CATALOG_FOLDER / "arguments"
_COMMIT: Final = re.compile(r"\b[0-9a-f]{7,40}\b")

ValueKind = Literal["int", "float", "text", "bool", "json", "enum", "layer_pattern", "int_tuple"]


class Argument(CatalogData):
    """One argument of the parser, with all spellings of its flag."""

    flags: tuple[str, ...] = Field(min_length=1, description="Every spelling, the first as the parser prints it.")
    dest: str = Field(description="The attribute that holds the value.")
    action: Literal["store", "store_true", "store_false", "boolean_optional"] = Field(
        description="What the flag does; all but `store` take no value."
    )
    value: ValueKind | None = Field(
        default=None,
        description="What one value must be; layer_pattern is a number or a list expression without spaces.",
    )
    nargs: int | Literal["*", "+"] | None = Field(default=None, description="How many values; null is exactly one.")
    choices: tuple[JsonValue, ...] | None = Field(default=None, description="The only values accepted.")
    default: JsonValue = Field(default=None, description="The value where the flag is not given.")
    required: bool = Field(default=False, description="Whether the parser insists on it.")
    defined_by: Literal["megatron", "slime", "smoke"] = Field(description="Who adds it to the parser.")
    help: str | None = Field(default=None, description="The parser's own help text, where the snapshot holds it.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Parser:
    """The arguments of one trainer by flag, and whether it drops in silence what it does not know."""

    by_flag: Mapping[str, Argument]
    drops_unknown: bool

    def find(self, flag: str) -> Argument | None:
        """The argument of this flag (`--lr`), or None. Flags are matched whole: there are no abbreviations."""
        return self.by_flag.get(flag)

    def nearest(self, flag: str) -> str | None:
        """The known flag that `flag` most likely meant, or None."""
        return nearest(flag, self.by_flag)


class ArgumentCatalogue(CatalogData):
    """Every argument of one stack's trainer, and where they were read: the file that `arguments snapshot` writes."""

    stack_id: str
    slime: str = Field(pattern=r"^[0-9a-f]{40}$")
    megatron_lm: str = Field(pattern=r"^[0-9a-f]{40}$")
    megatron_patch: str | None
    entry: str
    source: str
    retrieved: date
    unknown_flags: Literal["dropped in silence", "refused"]
    abbreviations: bool
    arguments: tuple[Argument, ...]

    @cached_property
    def parser(self) -> Parser:
        """The arguments by flag."""
        return Parser(
            by_flag={flag: argument for argument in self.arguments for flag in argument.flags},
            drops_unknown=self.unknown_flags == "dropped in silence",
        )


@lru_cache(maxsize=8)
def argument_catalogue(stack_id: str) -> ArgumentCatalogue:
    """The catalogue of one stack, `slime-a897e1f4+megatron-1dcf0daf`.

    Raises: UsageError if there is none, naming those there are.
    """
    return ArgumentCatalogue.model_validate_json(_read(stack_id))


@lru_cache(maxsize=8)
def stack_parser(stack_id: str) -> Parser:
    """The parser of the catalogue of one stack, without the rest of it, and taken as the tests have held it to be.

    Raises: as `argument_catalogue`.
    """
    document = json.loads(_read(stack_id))
    return Parser(
        by_flag=_OneByOne(document["arguments"]), drops_unknown=document["unknown_flags"] == "dropped in silence"
    )


class _OneByOne(Mapping[str, Argument]):
    """Arguments by flag, each made when it is asked for: a recipe has one in ten."""

    def __init__(self, entries: list[dict[str, Any]]) -> None:
        self._entries = {flag: entry for entry in entries for flag in entry["flags"]}
        self._made: dict[str, Argument] = {}

    def __getitem__(self, flag: str) -> Argument:
        if flag not in self._made:
            entry = self._entries[flag]
            lists = {name: tuple(value) for name, value in entry.items() if name in ("flags", "choices") and value}
            self._made[flag] = Argument.model_construct(**{**entry, **lists})
        return self._made[flag]

    def __contains__(self, flag: object) -> bool:
        return flag in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def _read(stack_id: str) -> bytes:
    known = stack_ids()
    if stack_id not in known:
        what = f"{stack_id} is no stack whose arguments are known"
        mend = f"use one of {', '.join(known)}, or take a snapshot of its parser"
        raise UsageError(Problem(place=Place(key="stack"), rule="stack-known", what=what, mend=mend))
    return (ARGUMENT_FOLDER / f"{stack_id}.json").read_bytes()


def stack_ids() -> tuple[str, ...]:
    """The stacks whose arguments are known, by name."""
    return tuple(sorted(path.stem for path in ARGUMENT_FOLDER.glob("*.json")))


def stack_id_of(framework: str, megatron_lm: str) -> str | None:
    """The stack that a recipe's `stack.framework` and `stack.megatron_lm` name by their commits, or None.

    A commit may be shortened to 7 digits, and may stand anywhere in the text.
    """
    for stack_id in stack_ids():
        slime, _, megatron = stack_id.partition("+")
        if _names_commit(framework, slime) and _names_commit(megatron_lm, megatron):
            return stack_id
    return None


def _names_commit(text: str, part: str) -> bool:
    short = part.rpartition("-")[2]
    return any(word.startswith(short) or short.startswith(word) for word in _COMMIT.findall(text))
