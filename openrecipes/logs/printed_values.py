"""Mappings and numbers as Python prints them, read without evaluating anything.

Accepts what `ast.literal_eval` refuses and real logs hold: bare `nan` and `inf`, `np.float64(1.5)`,
`tensor(1.5, device='cuda:0')`, a literal `...`, and a text that ends too early.
"""

import math
import re
from dataclasses import dataclass

NUMBER = r"[-+]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_NUMBER = re.compile(rf"{NUMBER}\Z")
_WORDS = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "none": None, "null": None, "true": 1.0, "false": 0.0}
_KEY = re.compile(r"""\s*(?:'([^'\\]*)'|"([^"\\]*)"|\\"([^"\\]*)\\"|([A-Za-z_][\w./%()-]*))\s*[:=]\s*""")
_BEGUN_KEY = re.compile(r"""\\|\.{1,2}|\\?['"][^'"{}]*\\?['"]?\s*|[A-Za-z_][\w./-]*\s*""")
_ELLIPSIS = re.compile(r"\s*(?:\.\.\.|…)\s*")
_OPEN, _CLOSE = "([{", ")]}"
_CALL = re.compile(rf"\s*[A-Za-z_][\w.]*\(\s*['\"]?({NUMBER}|[-+]?(?:nan|inf(?:inity)?))['\"]?\s*[,)]", re.IGNORECASE)
_MAX_VALUE = 65_536


@dataclass(frozen=True, slots=True)
class Printed:
    """A mapping read from text: its values, and where its closing brace ends.

    `end` is None where the text stops, or turns into something else, before the mapping does; `unfinished`
    tells the two apart: True where more text may complete it.
    """

    values: dict[str, float | str]
    end: int | None
    unfinished: bool = False


def number(text: str) -> float | None:
    """The number that a printed value stands for, or None: 1.5, 1e-5, nan, -inf, np.float64(1.5), tensor(1.5)."""
    bare = text.strip().strip("'\"")
    if _NUMBER.match(bare):
        return float(bare)
    sign = -1.0 if bare.startswith("-") else 1.0
    word = bare.lstrip("+-").lower()
    if word in _WORDS:
        value = _WORDS[word]
        return None if value is None else sign * value
    call = _CALL.match(text)
    return number(call.group(1)) if call else None


def mapping(text: str, start: int, stop: int | None = None) -> Printed:
    """The mapping whose opening brace is `text[start]`, read up to `stop`. Nested values are kept as their text."""
    text = text if stop is None else text[:stop]
    if plain := _plain_mapping(text, start):
        return plain
    values: dict[str, float | str] = {}
    position = start + 1
    while True:
        position = _skip(text, position, " \t\n\r,")
        if position >= len(text):
            return Printed(values, None, unfinished=True)
        if text[position] == "}":
            return Printed(values, position + 1)
        if dots := _ELLIPSIS.match(text, position):
            position = dots.end()
            continue
        key = _KEY.match(text, position)
        if key is None:
            return Printed(values, None, unfinished=_may_be_key(text[position:]))
        end = _value_end(text, key.end())
        if end is None:
            return Printed(values, None, unfinished=len(text) - key.end() < _MAX_VALUE)
        name = next(group for group in key.groups() if group is not None)
        raw = text[key.end() : end].strip()
        if not _ELLIPSIS.fullmatch(raw):
            read = number(raw)
            if read is None and not _is_text(raw):
                return Printed(values, None)
            values[name] = raw.strip("'\"") if read is None else read
        position = end


def _plain_mapping(text: str, start: int) -> Printed | None:
    """A mapping of nothing but quoted names and bare numbers, which most are; None where it is another."""
    end = text.find("}", start)
    if end < 0 or end - start > _MAX_VALUE:
        return None
    values: dict[str, float | str] = {}
    for pair in text[start + 1 : end].split(", "):
        name, colon, printed = pair.partition(": ")
        if not colon or len(name) < 3 or name[0] != "'" or name[-1] != "'" or "'" in name[1:-1] or "_" in printed:
            return None
        try:
            values[name[1:-1]] = float(printed)
        except ValueError:
            return None
    return Printed(values, end + 1)


def _skip(text: str, position: int, blanks: str) -> int:
    while position < len(text) and text[position] in blanks:
        position += 1
    return position


def _may_be_key(rest: str) -> bool:
    """Whether the text could become a key if more of it came: a quoted word without its end, or `.` of `...`."""
    return len(rest) < 256 and _BEGUN_KEY.fullmatch(rest) is not None


def _is_text(raw: str) -> bool:
    """Whether a value that is no number is one that a program prints: quoted, bracketed, None, or a call."""
    return raw.lower() in _WORDS or re.match(r"""['"\[({\\]|[A-Za-z_][\w.]*[(\[{<]|<""", raw) is not None


def _value_end(text: str, start: int) -> int | None:
    """Where the value that begins at `start` stops (its comma or the closing brace), or None if it does not."""
    depth, quote, position = 0, "", start
    stop = min(len(text), start + _MAX_VALUE)
    while position < stop:
        character = text[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character in _OPEN:
            depth += 1
        elif depth and character in _CLOSE:
            depth -= 1
        elif not depth and character in ",}":
            return position
        position += 1
    return None
