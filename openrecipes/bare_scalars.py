"""What a bare YAML scalar looks like, against what YAML reads: `1e-5` is text to it, `no` is false, `1_4` is 14."""

import re
from typing import Final

MAX_DIGITS: Final = 400

_FLOAT_READ_AS_TEXT: Final = re.compile(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)[eE][-+]?\d+")
_BASE_60: Final = re.compile(r"[-+]?\d+(:\d+)+(\.\d*)?")
_BASE_8: Final = re.compile(r"[-+]?0[0-7]+")
_OTHER_BASE: Final = re.compile(r"[-+]?0([xX][0-9a-fA-F_]+|[oO][0-7_]+|[bB][01_]+)")
_WORDS_READ_AS_BOOLEAN: Final = frozenset({"y", "n", "yes", "no", "on", "off"})


def needs_quotes(text: str) -> bool:
    """Whether a bare `text` looks like a number although YAML reads it as text: `1e-5`, `0o17`, a commit `12e4`."""
    return any(form.fullmatch(text) for form in (_FLOAT_READ_AS_TEXT, _OTHER_BASE))


def look_alike(tag: str, text: str) -> tuple[str, str, str] | None:
    """Rule, what and mend for a bare scalar that YAML reads as something else than it looks like."""
    kind = tag.rsplit(":", 1)[-1]
    shown, is_number = text[:80], kind in ("int", "float")
    if _OTHER_BASE.fullmatch(text) and kind in ("int", "str"):
        what = f"{shown} is a number in another base than 10"
        return "yaml-base", what, f"write {_in_base_10(text)}, or quote it if text is meant"
    if kind == "str" and needs_quotes(text):
        mantissa, exponent = re.split("[eE]", text)
        sign = exponent if exponent[0] in "+-" else f"+{exponent}"
        meant = f"{mantissa if '.' in mantissa else mantissa + '.0'}e{sign}"
        what = f"YAML reads {shown} as text, not as a number"
        return "yaml-number-as-text", what, f"write {meant}, or quote it if text is meant"
    if kind == "bool" and text.lower() in _WORDS_READ_AS_BOOLEAN:
        mend = "write true or false, or quote it if text is meant"
        return "yaml-word-as-boolean", f"YAML reads {shown} as true or false", mend
    if is_number and _BASE_60.fullmatch(text):
        return "yaml-base-60", f"YAML reads {shown} as a number in base 60", f"quote it: '{shown}'"
    if is_number and "_" in text:
        mend = f"write {shown.replace('_', '')}, or quote it if text is meant"
        return "yaml-underscore", f"YAML reads {shown} as a number without its underscores", mend
    if kind == "int" and _BASE_8.fullmatch(text):
        mend = f"write {text.lstrip('0')[:80] or 0}, or quote it"
        return "yaml-octal", f"YAML reads {shown} as a number in base 8", mend
    if is_number and len(text) > MAX_DIGITS:
        return "yaml-value", f"{text[:40]}… has {len(text):,} digits", "write the number that is meant"
    return None


def _in_base_10(text: str) -> str:
    """A number such as `0x1F` in base 10, where it is not too long."""
    digits = text.replace("_", "").lower()
    return str(int(digits, 0)) if len(digits) <= 20 else "it in base 10"
