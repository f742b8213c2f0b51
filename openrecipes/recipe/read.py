"""A recipe file to a Recipe, with every problem of the file at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from openrecipes.located_yaml import LocatedDocument, Path_, located_yaml, read_text
from openrecipes.problems import Place, Problem, ProblemsError, errors_in, in_order
from openrecipes.recipe.block import Block
from openrecipes.recipe.field_problems import field_problems
from openrecipes.recipe.model import Recipe


@dataclass(frozen=True, kw_only=True, slots=True)
class LocatedRecipe:
    """A recipe with the place of every key, and what was wrong with its file.

    Where `complete` is false, `recipe` lacks the fields that could not be read: touching one raises
    AttributeError, and rules over such a recipe end there. `arguments` and `env` lack only their unreadable entries.
    """

    recipe: Recipe
    document: LocatedDocument
    problems: tuple[Problem, ...]
    unread: frozenset[Path_] = frozenset()

    @property
    def complete(self) -> bool:
        """Whether every field could be read."""
        return not self.unread

    def unread_in(self, mapping: str) -> frozenset[str]:
        """The entries of `arguments` or `env` that could not be read."""
        return frozenset(str(path[1]) for path in self.unread if path[0] == mapping and len(path) > 1)

    @property
    def file(self) -> str:
        """The file as the user named it."""
        return self.document.file

    @property
    def text(self) -> str:
        """The file's text."""
        return self.document.text

    def place(self, key: str = "") -> Place:
        """The place of a dotted key, or of the nearest key around it."""
        return self.document.place(key)


def parse_recipe(text: str, file: str) -> LocatedRecipe:
    """A recipe from its text; problems are collected, not raised.

    Raises: ProblemsError only where the text is no YAML mapping, or a cluster profile.
    """
    document = located_yaml(text, file)
    value = frozen(document.value)
    if is_of_kind(value, "target", but_not="model"):
        raise ProblemsError(_other_kind(document))
    bad = set(document.unread)
    complaints: list[Problem] = []
    try:
        recipe = Recipe.model_validate(value)
    except ValidationError as error:
        complaints = list(field_problems(document, field_errors(document, error), Recipe))
        bad |= {_path(document.value, item) for item in error.errors(include_url=False)}
    if bad:
        recipe = _partial(Recipe, value, bad, ())
    problems = in_order((*document.problems, *complaints))
    return LocatedRecipe(recipe=recipe, document=document, problems=problems, unread=frozenset(bad))


def read_recipe(path: Path) -> LocatedRecipe:
    """A recipe from a file that must be sound.

    Raises: UsageError if the file cannot be read; ProblemsError with every problem of its text.
    """
    located = parse_recipe(read_text(path), str(path))
    if errors_in(located.problems):
        raise ProblemsError(*located.problems)
    return located


def is_of_kind(value: Mapping[str, Any], telling: str, *, but_not: str) -> bool:
    """Whether a file is of another kind than it was named for: a recipe says a model, a cluster profile a target."""
    return telling in value and but_not not in value


def _other_kind(document: LocatedDocument) -> Problem:
    what, mend = "this is a cluster profile, and a recipe is wanted", "name a recipe here, and this file with --cluster"
    return Problem(place=Place(file=document.file), rule="schema-kind", what=what, mend=mend)


def field_errors(document: LocatedDocument, error: ValidationError) -> dict[Path_, ErrorDetails]:
    """What a validator complains of, the first for each place in the file; of what YAML could not read only news."""
    found = {_path(document.value, item): item for item in reversed(error.errors(include_url=False))}
    told = set(document.unread)
    return {path: item for path, item in found.items() if path not in told or item["type"] == "extra_forbidden"}


def frozen(value: Any) -> Any:
    """Plain data with tuples for lists, as the models take them."""
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    return tuple(frozen(item) for item in value) if isinstance(value, list) else value


def _path(value: Any, item: ErrorDetails) -> Path_:
    """The part of a validation error's location that stands in the file: names of union branches do not."""
    path: list[int | str] = []
    location = item["loc"]
    for part in location:
        in_list = isinstance(value, list) and isinstance(part, int) and part < len(value)
        if in_list or (isinstance(value, dict) and part in value):
            value = value[part]
        elif item["type"] == "missing" and part == location[-1]:
            value = None
        else:
            break
        path.append(part)
    return tuple(path)


def _partial(block: type[Block], value: Mapping[str, Any], bad: set[Path_], path: Path_) -> Any:
    """The block with only the fields that can be read."""
    good: dict[str, Any] = {}
    absent: set[str] = set()
    for name, info in block.model_fields.items():
        here = (*path, name)
        inner = _block_type(info.annotation)
        if not any(place[: len(here)] == here for place in bad):
            if name in value:
                good[name] = _built(info.annotation, value[name])
        elif here not in bad and isinstance(value.get(name), dict):
            if inner is not None:
                good[name] = _partial(inner, value[name], bad, here)
            else:
                told = {place[len(here)] for place in bad if place[: len(here)] == here}
                good[name] = {key: item for key, item in value[name].items() if key not in told}
        else:
            absent.add(name)
    built = block.model_construct(_fields_set=set(good), **good)
    for name in absent:  # a field with a default has that now, which the file does not say
        built.__dict__.pop(name, None)
    return built


def _built(annotation: Any, value: Any) -> Any:
    """A value without fault as its field holds it."""
    inner = _block_type(annotation)
    if inner is not None and isinstance(value, dict):
        return inner.model_validate(value)
    items = _block_type(get_args(annotation)[0]) if get_origin(annotation) is tuple else None
    return tuple(items.model_validate(item) for item in value) if items is not None else value


def _block_type(annotation: Any) -> type[Block] | None:
    """The block that an annotation names, alone or beside None."""
    if get_origin(annotation) in (Union, UnionType):
        inner = [item for item in get_args(annotation) if item is not NoneType]
        annotation = inner[0] if len(inner) == 1 else None
    return annotation if isinstance(annotation, type) and issubclass(annotation, Block) else None
