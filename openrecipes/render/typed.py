"""Values given as text, typed by the recipe's models."""

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from openrecipes.located_yaml import LocatedDocument, Path_, Span, dotted
from openrecipes.problems import Place, Problem
from openrecipes.recipe.field_problems import field_problems
from openrecipes.recipe.model import Recipe

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,24})")
_FLOAT = re.compile(r"-?([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})([eE][-+]?[0-9]{1,3})?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

Path = tuple[str, ...]


def typed(before: Mapping[str, Any], values: Sequence[tuple[Path, str, Place]]) -> tuple[dict[str, Any], list[Problem]]:
    """The plain data with each value set as the first of its readings that the key's type accepts, and what is wrong.

    A reading is what the text looks like (`4`, `true`, `null`, `[4, 19]`, a day) or the text itself. In `env` every
    value is text, but `null` takes the variable away.
    """
    readings = {path: _readings(path, text) for path, text, _ in values}
    chosen = {path: options[0] for path, options in readings.items()}
    bad = _errors(_with(before, chosen))
    for path in [path for path, options in readings.items() if len(options) > 1 and _about(bad, path)]:
        as_text = chosen | {path: readings[path][1]}
        if not _about(_errors(_with(before, as_text)), path):
            chosen = as_text
    after = _with(before, chosen)
    return after, _problems(after, _errors(after), values)


def _with(before: Mapping[str, Any], chosen: Mapping[Path, Any]) -> dict[str, Any]:
    after = copy.deepcopy(dict(before))
    for path, value in chosen.items():
        _put(after, path, value)
    return after


def _readings(path: Path, text: str) -> tuple[Any, ...]:
    if path[0] == "env":
        return (None,) if text == "null" else (text,)
    looks_like = _looks_like(text)
    return (text,) if isinstance(looks_like, str) else (looks_like, text)


def _looks_like(text: str) -> Any:
    stripped = text.strip()
    if stripped.startswith("[") and stripped.endswith("]"):
        inner = stripped[1:-1].strip()
        return tuple(_scalar(item.strip()) for item in inner.split(",")) if inner else ()
    return _scalar(text)


def _scalar(text: str) -> Any:
    words = {"true": True, "false": False, "null": None}
    if text in words:
        return words[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _DAY.fullmatch(text):
        try:
            return date.fromisoformat(text)
        except ValueError:
            return text
    return text


def _put(data: dict[str, Any], path: Path, value: Any) -> None:
    """Sets the value, making blocks that are null on the way; None takes an environment variable away."""
    here: dict[str, Any] = data
    for part in path[:-1]:
        if not isinstance(here.get(part), dict):
            here[part] = {}
        here = here[part]
    if path[0] == "env" and value is None:
        here.pop(path[-1], None)
    else:
        here[path[-1]] = value


def _errors(data: Mapping[str, Any]) -> list[ErrorDetails]:
    try:
        Recipe.model_validate(data)
    except ValidationError as error:
        return list(error.errors(include_url=False))
    return []


def _about(errors: Sequence[ErrorDetails], path: Path) -> bool:
    return any(error["loc"][: len(path)] == path for error in errors)


def _problems(
    data: dict[str, Any], errors: Sequence[ErrorDetails], values: Sequence[tuple[Path, str, Place]]
) -> list[Problem]:
    """One problem a key, worded as for a recipe file, at the place of the setting that it belongs to."""
    spans: dict[Path_, Span] = {
        path: Span(key_line=1, first_line=1, last_line=1, written=text) for path, text, _ in values
    }
    document = LocatedDocument(file="", text="", value=data, spans=spans)
    found: dict[Path_, ErrorDetails] = {}
    places: dict[str, Place] = {}
    for error in errors:
        path, place = _setting_of(error["loc"], values)
        found.setdefault(path, error)
        places.setdefault(dotted(path), place)
    return [
        replace(problem, place=replace(places[problem.place.key], key=problem.place.key))
        for problem in field_problems(document, found, Recipe)
    ]


def _setting_of(location: tuple[int | str, ...], values: Sequence[tuple[Path, str, Place]]) -> tuple[Path_, Place]:
    """The key that an error is about: one that is set, or one that is missing beside it."""
    for path, _, place in values:
        if location[: len(path)] == path:
            return path, place
    beside = (place for path, _, place in values if path[:-1] == location[:-1])
    return location, next(beside, values[0][2])
