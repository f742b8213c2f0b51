"""A command's words sorted into how the trainer is started and what it is told: flags with their values."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from openrecipes.check.shell_words import PLACEHOLDER, Word

_FLAG: Final = re.compile(r"--?[A-Za-z]")
_ARRAY: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\[[@*]\]\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """One flag as the command gives it, with the words that follow it; or an array whose words are not known.

    `has_equals`: the value was joined to the flag, as in `--lr=1e-5`.
    """

    flag: str
    values: tuple[Word, ...]
    line: int
    has_equals: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        """The values' texts."""
        return tuple(word.text for word in self.values)

    @property
    def is_array(self) -> bool:
        """Whether this stands for flags that the text does not show."""
        return bool(_ARRAY.fullmatch(self.flag))

    def __str__(self) -> str:
        return " ".join((self.flag, *self.texts))


@dataclass(frozen=True, kw_only=True, slots=True)
class Invocation:
    """How the trainer is started (up to its entry), words in front of the first flag, and what it is told."""

    head: tuple[Word, ...]
    loose: tuple[Word, ...]
    given: tuple[Given, ...]

    @property
    def effective(self) -> Mapping[str, Given]:
        """Each flag as the trainer takes it: of several the last."""
        return {given.flag: given for given in self.given}

    @property
    def shows_all(self) -> bool:
        """Whether no array hides further flags."""
        return not any(given.is_array for given in self.given)


def invocation(words: Sequence[Word]) -> Invocation | None:
    """The parts of one command; None where no word is an entry: slime's, or a Python file."""
    entry = next((i for i, word in enumerate(words) if word.text == PLACEHOLDER or word.text.endswith(".py")), None)
    if entry is None:
        return None
    start = entry + 1
    if start < len(words) and words[start].text == "--async":
        start += 1
    loose: list[Word] = []
    given: list[Given] = []
    for word in words[start:]:
        if _FLAG.match(word.text) or _ARRAY.fullmatch(word.text):
            flag, equals, value = word.text.partition("=")
            values = (Word(text=value, raw=value, line=word.line, is_open=word.is_open),) if equals else ()
            given.append(Given(flag=flag, values=values, line=word.line, has_equals=bool(equals)))
        elif given and not given[-1].is_array and not given[-1].has_equals:
            last = given[-1]
            given[-1] = Given(flag=last.flag, values=(*last.values, word), line=last.line)
        else:
            loose.append(word)
    return Invocation(head=tuple(words[:start]), loose=tuple(loose), given=tuple(given))
