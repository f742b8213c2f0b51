"""What a mutation is, and the changes that mutations are made of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml
from good_recipes import FILE, text_with

Text = str | bytes | None  # None: there is no file


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One change. `base` is the good recipe's file; `file` is where the changed text lies, if elsewhere."""

    name: str
    rule: str
    key: str
    change: Callable[[str], Text]
    base: str = FILE
    file: str | None = None


class Mutations(list[Mutation]):
    """A list of mutations that grows by one for each line of a table."""

    def add(self, rule: str, key: str, change: Callable[[str], Text], *, name: str = "", **where: str) -> None:
        self.append(Mutation(name=name or rule, rule=rule, key=key, change=change, **where))


def line(old: str, new: str) -> Callable[[str], str]:
    """Puts `new` in the place of `old`, which stands in the text once."""

    def change(text: str) -> str:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the good recipe"
        return text.replace(old, new)

    return change


def fields(changes: Mapping[str, Any], *, derived: tuple[str, ...] = ("words", "run")) -> Callable[[str], str]:
    """Sets fields; label, summary, highlights and run follow where they can."""
    return lambda text: text_with(text, changes, derived=derived)


def then(*changes: Callable[[str], str]) -> Callable[[str], str]:
    def change(text: str) -> str:
        for step in changes:
            text = step(text)
        return text

    return change


def last_line(more: str) -> Callable[[str], str]:
    return lambda text: text.rstrip("\n") + more + "\n"


def run(text: str) -> str:
    """The command's text of a recipe."""
    return str(yaml.safe_load(text)["run"])
