"""A recipe's environment: which values are literal, which the node's shell evaluates, and how each is written."""

import re
import shlex
from collections.abc import Iterator, Mapping

from openrecipes.problems import Place, Problem
from openrecipes.render.argument import EnvironmentValue

# Values that a node's shell evaluates to decide what the node itself knows; a launch runs no other.
NVLS_BY_NVLINK = '$([ "$NVLINK_COUNT" -gt 0 ] && echo 1 || echo 0)'
KNOWN_EXPRESSIONS = frozenset({NVLS_BY_NVLINK})

_REFERENCE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})")


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
        return parts[0][0]
    return "".join(f'"{text}"' if is_evaluated else shlex.quote(text) for text, is_evaluated in parts)


def _parts(value: str) -> tuple[tuple[str, bool], ...] | None:
    """The pieces of the value, and whether the shell evaluates each; None where a `$(` is never closed."""
    parts: list[tuple[str, bool]] = []
    start = at = 0
    while (at := value.find("$", at)) >= 0:
        reference = _REFERENCE.match(value, at)
        if value.startswith("$(", at):
            closed = _end_of_substitution(value, at)
            if closed is None:
                return None
            end = closed
        elif reference:
            end = reference.end()
        else:
            at += 1
            continue
        if start < at:
            parts.append((value[start:at], False))
        parts.append((value[at:end], True))
        start = at = end
    if start < len(value):
        parts.append((value[start:], False))
    return tuple(parts)


def _end_of_substitution(value: str, at: int) -> int | None:
    """Where the `$(` that stands at `at` ends; None where it, or a quote in it, is never closed."""
    open_inside, at = ["("], at + 2
    while open_inside:
        if at >= len(value):
            return None
        character, in_quotes = value[at], open_inside[-1] == '"'
        if value.startswith("$(", at):
            open_inside.append("(")
            at += 1
        elif character == "\\":
            at += 1
        elif in_quotes and character == '"':
            open_inside.pop()
        elif character == "`" or (character == "'" and not in_quotes):
            at = value.find(character, at + 1)
            if at < 0:
                return None
        elif not in_quotes and character in '("':
            open_inside.append(character)
        elif not in_quotes and character == ")":
            open_inside.pop()
        at += 1
    return at
