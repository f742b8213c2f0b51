"""A recipe's environment: which values are literal, which the node's shell evaluates, and how each is written."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from openrecipes.problems import Place, Problem
from openrecipes.render.argument import EnvironmentValue

# Values that a node's shell evaluates to decide what the node itself knows; a launch runs no other.
NVLS_BY_NVLINK = '$([ "$NVLINK_COUNT" -gt 0 ] && echo 1 || echo 0)'
KNOWN_EXPRESSIONS = frozenset({NVLS_BY_NVLINK})

_NAME = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
_REFERENCE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """A piece of a shell value, and the text of it in which no `$` is held by single quotes."""

    text: str
    evaluated: bool
    open_text: str = ""


def environment(env: Mapping[str, str]) -> tuple[EnvironmentValue, ...]:
    """The variables in the recipe's order; a value that holds `$(` is evaluated by the shell, any other is literal."""
    return tuple(
        EnvironmentValue(name=name, value=value, kind="shell" if "$(" in value else "literal", origin=f"env.{name}")
        for name, value in env.items()
    )


def environment_problems(env: Mapping[str, str]) -> Iterator[Problem]:
    """Values that no shell line can carry."""
    for name, value in env.items():
        place = Place(key=f"env.{name}")
        if "\0" in value:
            what = "holds a NUL character, which no environment can"
            yield Problem(place=place, rule="env-text", what=what, mend="remove it")
        elif "$(" in value and _parts(value) is None:
            what = f"{value[:80]} opens $(, a quote or a backtick and never closes it"
            yield Problem(place=place, rule="env-shell", what=what, mend="close it, or mend the quotes")


def shell_word(value: EnvironmentValue) -> str:
    """The value as one shell word: `NAME=` before it makes an assignment.

    A lone `$(...)` stays as it is written; in a longer value each evaluated part stands in double quotes, and
    everything else is quoted, so that nothing but the evaluated parts is ever run.
    """
    parts = _parts(value.value) if value.kind == "shell" else None
    if parts is None:
        return shlex.quote(value.value)
    if len(parts) == 1:
        return parts[0].text
    return "".join(f'"{part.text}"' if part.evaluated else shlex.quote(part.text) for part in parts)


def variables_needed(value: EnvironmentValue) -> tuple[str, ...]:
    """Names of the variables that a shell value reads, in order, each once; none for a literal."""
    parts = _parts(value.value) if value.kind == "shell" else None
    names = (name for part in parts or () if part.evaluated for name in _NAME.findall(part.open_text))
    return tuple(dict.fromkeys(names))


def _parts(value: str) -> tuple[_Part, ...] | None:
    """The value cut into evaluated and literal parts; None where a `$(` is never closed."""
    parts: list[_Part] = []
    start = at = 0
    while (at := value.find("$", at)) >= 0:
        reference = _REFERENCE.match(value, at)
        if value.startswith("$(", at):
            end, open_text = _substitution(value, at)
            if end is None:
                return None
        elif reference:
            end, open_text = reference.end(), reference.group()
        else:
            at += 1
            continue
        if start < at:
            parts.append(_Part(text=value[start:at], evaluated=False))
        parts.append(_Part(text=value[at:end], evaluated=True, open_text=open_text))
        start = at = end
    if start < len(value):
        parts.append(_Part(text=value[start:], evaluated=False))
    return tuple(parts)


def _substitution(value: str, at: int) -> tuple[int | None, str]:
    """Where the `$(` that stands at `at` ends, and its text without what single quotes hold."""
    open_inside, at, seen = ["("], at + 2, ""
    while open_inside:
        if at >= len(value):
            return None, ""
        character, in_quotes = value[at], open_inside[-1] == '"'
        if value.startswith("$(", at):
            open_inside.append("(")
            at += 1
        elif character == "\\":
            at += 1
        elif in_quotes and character == '"':
            open_inside.pop()
        elif not in_quotes and character == "'":
            closing = value.find("'", at + 1)
            if closing < 0:
                return None, ""
            at = closing
        elif character == "`":
            closing = value.find("`", at + 1)
            if closing < 0:
                return None, ""
            seen += value[at:closing]
            at = closing
        elif not in_quotes and character in '("':
            open_inside.append(character)
        elif not in_quotes and character == ")":
            open_inside.pop()
        seen += character if at < len(value) and value[at] == character else " "
        at += 1
    return at, seen
