"""A recipe file to a Recipe, with every problem of the file at once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import ValidationError

from openrecipes.located_yaml import LocatedDocument, Path_, located_yaml, read_text
from openrecipes.problems import Place, Problem, ProblemsError, errors_in, in_order
from openrecipes.recipe.block import Block
from openrecipes.recipe.field_problems import field_problem
from openrecipes.recipe.model import Recipe


@dataclass(frozen=True, kw_only=True, slots=True)
class LocatedRecipe:
    """A recipe with the place of every key, and what was wrong with its file.

    Where `complete` is false, `recipe` lacks the fields that could not be read: touching one raises
    AttributeError, and rules over such a recipe end there.
    """

    recipe: Recipe
    document: LocatedDocument
    problems: tuple[Problem, ...]
    complete: bool

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

    Raises: ProblemsError only where the text is no YAML mapping.
    """
    document = located_yaml(text, file)
    value = _frozen(document.value)
    try:
        recipe, complaints = Recipe.model_validate(value), []
    except ValidationError as error:
        found = [(_path(document.value, item["loc"]), item) for item in error.errors(include_url=False)]
        complaints = [field_problem(document, path, item, Recipe) for path, item in _first_of_each(found)]
        bad = {path for path, _ in found}
        recipe = _partial(Recipe, value, bad, ())
    problems = in_order((*document.problems, *complaints))
    complete = not complaints and not errors_in(document.problems)
    return LocatedRecipe(recipe=recipe, document=document, problems=problems, complete=complete)


def read_recipe(path: Path) -> LocatedRecipe:
    """A recipe from a file that must be sound.

    Raises: UsageError if the file cannot be read; ProblemsError with every problem of its text.
    """
    located = parse_recipe(read_text(path), str(path))
    if errors_in(located.problems):
        raise ProblemsError(*located.problems)
    return located


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _path(value: Any, location: tuple[int | str, ...]) -> Path_:
    """The part of a validation error's location that stands in the file: names of union branches do not."""
    path: list[int | str] = []
    for part in location:
        missing_last = part == location[-1] and isinstance(part, str) and isinstance(value, dict)
        if isinstance(value, dict) and (part in value or missing_last):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            break
        path.append(part)
    return tuple(path)


def _first_of_each(found: list[tuple[Path_, Any]]) -> Iterator[tuple[Path_, Any]]:
    seen: set[Path_] = set()
    for path, item in found:
        if path not in seen:
            seen.add(path)
            yield path, item


def _partial(block: type[Block], value: Mapping[str, Any], bad: set[Path_], path: Path_) -> Any:
    """The block with only the fields that can be read."""
    good: dict[str, Any] = {}
    for name, info in block.model_fields.items():
        here = (*path, name)
        if name not in value or here in bad:
            continue
        inner = _block_type(info.annotation)
        below = any(place[: len(here)] == here for place in bad)
        if inner is not None and isinstance(value[name], dict):
            good[name] = _partial(inner, value[name], bad, here) if below else inner(**value[name])
        elif not below:
            good[name] = value[name]
    return block.model_construct(_fields_set=set(good), **good)


def _block_type(annotation: Any) -> type[Block] | None:
    if get_origin(annotation) in (Union, UnionType):
        inner = [item for item in get_args(annotation) if item is not NoneType]
        annotation = inner[0] if len(inner) == 1 else None
    return annotation if isinstance(annotation, type) and issubclass(annotation, Block) else None
