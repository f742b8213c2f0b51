r"""A recipe's text as a page shows it: characters that would hide or turn other text round are named instead.

shown("a\u202eb")   -> "a[U+202E]b"
exact("a\u202eb")   -> Markup whose text is the very same, and in which the character turns nothing round
"""

import re
from typing import Any, Final

from markupsafe import Markup, escape

# Controls, bidirectional marks, line ends of other alphabets, and characters without width. Joiners stay: emoji
# and Arabic or Indic script need them.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def shown(value: Any) -> Any:
    """Text with its hidden characters named; anything else, markup included, as it is."""
    if not isinstance(value, str) or isinstance(value, Markup) or not _HIDDEN.search(value):
        return value
    return _HIDDEN.sub(lambda found: f"[{_name(found[0])}]", value)


def exact(text: str) -> Markup:
    """Markup for `<pre>` and `<code>` whose text content is exactly this text, so that a copy of it is true.

    A hidden character stands in an element of its own, which names it (by the style sheet) and isolates it.
    """
    if not _HIDDEN.search(text):
        return escape(text)
    pieces: list[str] = []
    end = 0
    for found in _HIDDEN.finditer(text):
        pieces += [str(escape(text[end : found.start()])), _named(found[0])]
        end = found.end()
    return Markup("".join((*pieces, str(escape(text[end:])))))  # noqa: S704  (every piece is escaped)


def _named(character: str) -> str:
    # A bare carriage return would be read as a line feed. What YAML cannot hold (NUL, half a pair) is not kept.
    kept = "&#13;" if character == "\r" else character.encode("utf-8", "replace").decode()
    return f'<span class="hidden-character" data-name="{_name(character)}">{kept}</span>'


def _name(character: str) -> str:
    return f"U+{ord(character):04X}"
