"""Records of the form `key: number | key: number |`, as Megatron-LM and NeMo print them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from openrecipes.logs.printed_values import NUMBER, number

_WORD = rf"(?:{NUMBER}|[-+]?(?:nan|inf)|(?:np\.)?[a-z]*float[0-9]*\([^)]*\)|tensor\([^)]*\))"
_FIELD = re.compile(
    rf"\s*([A-Za-z][^:=|{{}}]{{0,80}}?)\s*[:=]\s*({_WORD})\s*(?:/\s*({_WORD}))?\s*(ms|s|%)?\s*\Z", re.IGNORECASE
)
_NO_COLON = re.compile(rf"\s*([A-Za-z][A-Za-z _-]{{0,40}}?)\s*({_WORD})\s*\Z", re.IGNORECASE)
_LAST = re.compile(
    rf"\s*([A-Za-z][^:=|{{}}]{{0,80}}?)\s*[:=]\s*({_WORD})(?=\s|\Z|[\[({{A-DF-Zac-df-z\"'\\])", re.IGNORECASE
)
_NAMED = re.compile(r"\s*([A-Za-z][^:=|{}]{0,80}?)\s*[:=]")

Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fields:
    """The fields of one record: values by name, and where the last one ends.

    A known name is spelt as the format's reader spells it, whatever a wrap did to it. `after_slash` holds the
    second numbers of `1460.8/1450.4`. `open_number`: the name of a last number that nothing but the
    text ends, so that the next line may go on with it. `spoiled`: known names whose value something else broke.
    """

    values: dict[str, float]
    after_slash: dict[str, float]
    end: int
    open_number: str = ""
    spoiled: tuple[str, ...] = ()


def key_of(name: str) -> str:
    """A key without what wraps and releases change in it: blanks, hyphens, underscores, capitals."""
    return re.sub(r"[\s_-]+", "", name).lower()


def respelt(values: Mapping[str, Value], known: Mapping[str, str]) -> dict[str, Value]:
    """The values with known names spelt as the reader spells them."""
    return {known.get(key_of(name), name): value for name, value in values.items()}


def names_by_key(names: Iterable[str]) -> Mapping[str, str]:
    """The known names by `key_of`."""
    return {key_of(name): name for name in names}


def fields(text: str, start: int, stop: int, known: Mapping[str, str]) -> Fields:
    """The fields from `start` on. A pipe ends a field; what no pipe ends counts only under a known key."""
    values: dict[str, float] = {}
    after_slash: dict[str, float] = {}
    spoiled: list[str] = []
    position, end, strange = start, start, 0
    while position < stop:
        pipe = text.find("|", position, stop)
        if pipe < 0:
            last = _LAST.match(text, position, stop)
            value = number(last.group(2)) if last else None
            if last is None or value is None or key_of(last.group(1)) not in known:
                break
            name = known[key_of(last.group(1))]
            if stop < len(text) or text[last.end() : last.end() + 1].isalpha():
                spoiled.append(name)  # another record or writer goes on here, and may have broken the number off
                break
            values.setdefault(name, value)
            open_number = "" if text[last.end() : stop].strip() else name
            return Fields(
                values=values, after_slash=after_slash, end=last.end(), open_number=open_number, spoiled=tuple(spoiled)
            )
        segment = text[position:pipe]
        match = _FIELD.match(segment) or _known_without_colon(segment, known)
        value = number(match.group(2)) if match else None
        if match is not None and value is not None and (not strange or key_of(match.group(1)) in known):
            key = known.get(key_of(match.group(1)), " ".join(match.group(1).split()))
            if key in known.values() and (key in values or key in spoiled):
                break  # what is told a second time is another record's
            values.setdefault(key, value)
            second = match.group(3) if match.re is _FIELD else None
            if second and (slashed := number(second)) is not None:
                after_slash.setdefault(key, slashed)
            end, strange = pipe + 1, 0
        else:
            named = _NAMED.match(segment)
            if named and key_of(named.group(1)) in known:
                spoiled.append(known[key_of(named.group(1))])
            strange += 1
            if strange > 2:
                break
        position = pipe + 1
    return Fields(values=values, after_slash=after_slash, end=end, spoiled=tuple(spoiled))


def _known_without_colon(segment: str, known: Mapping[str, str]) -> re.Match[str] | None:
    """A field of the oldest releases: `lm loss 9.4E+00`."""
    match = _NO_COLON.match(segment)
    return match if match and key_of(match.group(1)) in known else None
