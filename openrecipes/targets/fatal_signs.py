"""What a launching script looks for in the log of a run that may never end by itself: diagnosis's signatures as text.

The script runs where no openrecipes is, so it is given the table as files for grep: literals that every sign holds
one of, and of the few lines with one of them, expressions for `grep -P`.
"""

import re
from collections.abc import Iterable
from typing import Final

from openrecipes.diagnosis.signatures import Kind, Sign, Signature, table
from openrecipes.targets.target import RenderedFile

STEMS: Final = "signs/stems.txt"
ANYWHERE: Final = "signs/fatal.pcre"
BELOW_A_TRACEBACK: Final = "signs/raised.pcre"
# A stop from outside ends a run by itself, and what only makes its figures worthless is the score's to judge.
_KINDS: Final = frozenset((Kind.CAUSE, Kind.EXCEPTION, Kind.SYMPTOM, Kind.ECHO, Kind.END))


def sign_files() -> tuple[RenderedFile, ...]:
    """The literals; an expression for lines that tell of a death wherever they stand, and one for below a traceback."""
    fatal = [entry for entry in table().classes if entry.kind in _KINDS]
    return (
        RenderedFile(path=STEMS, text="".join(f"{stem}\n" for stem in table().stems)),
        RenderedFile(path=ANYWHERE, text=_expression(one for one in fatal if not one.after_traceback_only)),
        RenderedFile(path=BELOW_A_TRACEBACK, text=_expression(one for one in fatal if one.after_traceback_only)),
    )


def _expression(signatures: Iterable[Signature]) -> str:
    """One expression, on one line: a line is found by any of the signs, unless it prints what people wrote."""
    innocent = "|".join(_literal(text) for text in table().not_trouble)
    signs = "|".join(_sign(sign) for entry in signatures for sign in entry.signs)
    return f"^(?!.*(?:{innocent}))(?:{signs})\n"


def _sign(sign: Sign) -> str:
    """All that the sign asks of a line, in any order."""
    parts = [_literal(sign.text)]
    if sign.one_of:
        parts.append("|".join(_literal(text) for text in sign.one_of))
    if sign.pattern is not None:
        parts.append(sign.pattern)
    return "".join(f"(?=.*(?:{part}))" for part in parts)


def _literal(text: str) -> str:
    return re.sub(r"([^A-Za-z0-9_ ])", r"\\\1", text)
