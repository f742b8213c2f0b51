"""One text for one value, however it was written: on a command line, in the parser's defaults, or in a log's dump."""

import json
import re
from collections.abc import Sequence
from math import isfinite
from typing import Final

NONE: Final = "None"
_WHOLE: Final = re.compile(r"[+-]?\d{1,300}")
_NUMBER: Final = re.compile(r"[+-]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:[eE][+-]?\d{1,4})?")
_ITEM: Final = re.compile(r"\s*('[^']*'|\"[^\"]*\"|[^,\[\]'\"]+)\s*(?:,|$)")
_TIMES: Final = re.compile(r"\*(\d{1,6})")
_MOST_ITEMS: Final = 10_000
_DEEPEST: Final = 8
# How Python prints what the command line names otherwise.
_NAMES: Final = {
    "torch.float32": "fp32",
    "torch.float": "fp32",
    "torch.bfloat16": "bf16",
    "torch.float16": "fp16",
    "torch.half": "fp16",
    "torch.uint8": "fp8",
}
_ENUMS: Final = ("AttnBackend.", "CudaGraphScope.")


def canonical(value: object) -> str:
    """The value as one text: `1e-5`, `1e-05` and 0.00001 are the same, and so are `[1,1]` and the list of both."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, list | tuple):
        return _list(value)
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    text = str(value).strip()
    if text.startswith(("[", "(")):
        items = expanded(text)
        return text if items is None else _list(items)
    if text in _NAMES:
        return _NAMES[text]
    for enum in _ENUMS:
        text = text.removeprefix(enum)
    return _number(text)


def number(text: str | None) -> float | None:
    """The number that a canonical text is, or None."""
    if text is None or not _NUMBER.fullmatch(text):
        return None
    found = float(text)
    return found if isfinite(found) else None


def whole(text: str | None) -> int | None:
    """The whole number that a canonical text is, or None; one of more than 18 digits counts nothing real."""
    return int(text) if text is not None and len(text) <= 19 and _WHOLE.fullmatch(text) else None


def expanded(text: str) -> list[str] | None:
    """The items of a list as Megatron takes patterns of layers: `[1,0]`, `[1]*4`, `([0]*3+[1])*2`; None of other text.

    Items are text without their quotes.
    """
    quoted = "'" in text or '"' in text
    plain = text.strip() if quoted else text.replace(" ", "")
    found = _sum(plain, 0, 0)
    return found[0] if found is not None and found[1] == len(plain) else None


def _sum(text: str, at: int, depth: int) -> tuple[list[str], int] | None:
    """The terms joined by `+` from a place on, and where they end."""
    items: list[str] = []
    while True:
        term = _term(text, at, depth)
        if term is None or len(items) + len(term[0]) > _MOST_ITEMS:
            return None
        items += term[0]
        at = term[1]
        if at >= len(text) or text[at] != "+":
            return items, at
        at += 1


def _term(text: str, at: int, depth: int) -> tuple[list[str], int] | None:
    """A list, or a sum in parentheses, with the number of times that it is repeated."""
    if depth > _DEEPEST or at >= len(text) or text[at] not in "[(":
        return None
    if text[at] == "[":
        end = text.find("]", at)
        items = _items(text[at + 1 : end]) if end >= 0 else None
        if items is None:
            return None
        at = end + 1
    else:
        inner = _sum(text, at + 1, depth + 1)
        if inner is None or text[inner[1] : inner[1] + 1] != ")":
            return None
        items, at = inner[0], inner[1] + 1
    times = _TIMES.match(text, at)
    if times is None:
        return items, at
    count = int(times[1])
    return (items * count, times.end()) if count * len(items) <= _MOST_ITEMS else None


def _list(items: Sequence[object]) -> str:
    return f"[{', '.join(canonical(item) for item in items)}]"


def _items(text: str) -> list[str] | None:
    """The items of a flat list without its brackets; None where it is no such list."""
    items: list[str] = []
    at = 0
    while at < len(text):
        match = _ITEM.match(text, at)
        if match is None or match.end() == at:
            return None if text[at:].strip() else items
        items.append(match[1].strip().strip("'\""))
        at = match.end()
    return items


def _number(text: str) -> str:
    if _WHOLE.fullmatch(text):
        return str(int(text))
    if not _NUMBER.fullmatch(text):
        return text
    found = float(text)
    if not isfinite(found):
        return text
    return str(int(found)) if found.is_integer() and abs(found) < 1e16 else repr(found)
