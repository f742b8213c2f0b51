"""One flag with its values held against the trainer's own parser."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final

from openrecipes.catalog.arguments import Argument, Parser

_LAYER_PATTERN: Final = re.compile(r"[0-9]+|[0-9\[\](),*+]*\[[0-9\[\](),*+]*")
_INT_TUPLE: Final = re.compile(r"\(?-?[0-9]+(, ?-?[0-9]+)*,?\)?")
# slime hands these to the inference engine's own parser.
_ENGINE_PREFIXES: Final = ("--sglang-", "--router-")
_LONG: Final = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class FlagFault:
    """What is wrong with a flag: the rule, the user's values, the mend; and where it stands once that is known.

    `key` is a key of the recipe; in `run`, `line` counts from 0 within its text.
    """

    flag: str
    rule: str
    what: str
    mend: str
    key: str = "run"
    line: int | None = None


def flag_faults(
    parser: Parser, flag: str, values: Sequence[str | None], *, guesses: bool = True
) -> Iterator[FlagFault]:
    """What the trainer would refuse or drop. A value that is not known, since a variable holds it, is None.

    Without `guesses` an unknown flag names no nearest one.
    """
    argument = parser.find(flag)
    if argument is None:
        yield _unknown(parser, flag, guesses=guesses)
        return
    fault = _count_fault(argument, flag, values)
    if fault is not None:
        yield fault
        return
    for value in values:
        fault = None if value is None else _value_fault(argument, flag, value)
        if fault is not None:
            yield fault


def _unknown(parser: Parser, flag: str, *, guesses: bool) -> FlagFault:
    if flag.startswith(_ENGINE_PREFIXES):
        what = f"{flag} is for the inference engine, which --debug-train-only leaves out"
        return FlagFault(flag=flag, rule="argument-void", what=what, mend="remove it")
    close = parser.nearest(flag) if guesses else None
    does = "drop it in silence" if parser.drops_unknown else "refuse it"
    what = f"the trainer has no {flag[:_LONG]} and would {does}"
    return FlagFault(
        flag=flag, rule="argument-unknown", what=what, mend=f"write {close}, or remove it" if close else "remove it"
    )


def _count_fault(argument: Argument, flag: str, values: Sequence[str | None]) -> FlagFault | None:
    given = " ".join((flag, *("$…" if value is None else value for value in values)))[:_LONG]
    if argument.action != "store":
        if not values:
            return None
        what = f"{given}, but {flag} takes no value"
        return FlagFault(flag=flag, rule="argument-count", what=what, mend=f"write {flag} alone")
    if argument.nargs == "*" or (argument.nargs == "+" and values):
        return None
    wanted = argument.nargs if isinstance(argument.nargs, int) else 1
    if argument.nargs != "+" and len(values) == wanted:
        return None
    if not values:
        what = f"{flag} has no value"
        return FlagFault(flag=flag, rule="argument-count", what=what, mend=f"write its value after {flag}")
    what = f"{given}, but {flag} takes {wanted} value{'' if wanted == 1 else 's'}"
    return FlagFault(
        flag=flag, rule="argument-count", what=what, mend="remove what does not belong to it, or quote the value"
    )


def _value_fault(argument: Argument, flag: str, text: str) -> FlagFault | None:
    shown = text[:_LONG]
    if argument.value == "layer_pattern" and any(character.isspace() for character in text):
        what = f'{flag} "{shown}" holds spaces, which its parser refuses'
        return FlagFault(flag=flag, rule="argument-spaces", what=what, mend=f"write {''.join(text.split())[:_LONG]}")
    if argument.choices is not None:
        allowed = [str(choice) for choice in argument.choices]
        if text in allowed or (argument.value in _READERS and _is_choice(argument, text)):
            return None
        what = f"{flag} {shown}, but it takes one of {', '.join(allowed[:12])}"
        return FlagFault(flag=flag, rule="argument-value", what=what, mend="write one of them")
    if argument.value == "bool":
        what = f"{flag} {shown}: the parser takes any text for true, also False"
        return FlagFault(flag=flag, rule="argument-value", what=what, mend=f"remove {flag} where it is not meant")
    meant, reads = _READERS.get(argument.value or "text", ("", _any))
    if reads(text):
        return None
    mend = f"write {int(float(text))}" if meant == "a whole number" and _is_whole(text) else f"write {meant}"
    return FlagFault(flag=flag, rule="argument-value", what=f"{flag} {shown}, but it takes {meant}", mend=mend)


def _is_choice(argument: Argument, text: str) -> bool:
    read = {"int": int, "float": float}.get(argument.value or "")
    try:
        return read is not None and read(text) in (argument.choices or ())
    except ValueError:
        return False


def _any(_: str) -> bool:
    return True


def _finite(text: str) -> float:
    if not isfinite(found := float(text)):
        raise ValueError
    return found


def _read_by(read: Callable[[str], object]) -> Callable[[str], bool]:
    def reads(text: str) -> bool:
        try:
            read(text)
        except (ValueError, RecursionError):
            return False
        return True

    return reads


def _is_whole(text: str) -> bool:
    try:
        return float(text).is_integer() and abs(float(text)) < 2**53
    except ValueError:
        return False


_READERS: Final[dict[str, tuple[str, Callable[[str], bool]]]] = {
    "int": ("a whole number", _read_by(int)),
    "float": ("a number", _read_by(_finite)),
    "json": ("a JSON text", _read_by(json.loads)),
    "layer_pattern": ("a number, or a list such as [1]*60", lambda text: bool(_LAYER_PATTERN.fullmatch(text))),
    "int_tuple": ("whole numbers such as 8,128", lambda text: bool(_INT_TUPLE.fullmatch(text))),
}
