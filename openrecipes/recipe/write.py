"""A recipe to its canonical text: the bytes that the published files have."""

import datetime
import re
from typing import Any

import yaml

from openrecipes.bare_scalars import needs_quotes
from openrecipes.recipe.block import Block
from openrecipes.recipe.model import Recipe

_OTHER_LINE_ENDS = re.compile("[\x85\u2028\u2029]")

WIDTH = 116
HEADER = "# {path}\n# An OpenRecipes recipe; the fields are documented in schema/recipe.schema.yaml.\n"


class _Dumper(yaml.SafeDumper):
    """Safe YAML with `|` for text of several lines and plain lists for tuples."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    if _OTHER_LINE_ENDS.search(value):
        style: str | None = '"'  # bare, PyYAML would write them as they are and read them back as a blank
    elif "\n" not in value and value != value.strip():
        style = '"'  # a blank of any alphabet at an end is seen by nobody, and is lost where lines are trimmed
    else:
        style = "|" if "\n" in value else ("'" if needs_quotes(value) else None)
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(tuple, yaml.SafeDumper.represent_list)


def plain(block: Block) -> dict[str, Any]:
    """A block as plain data: keys in the schema's order, those the file never set left out."""
    return block.model_dump(exclude_unset=True)


def json_ready(value: Any) -> Any:
    """Plain data that JSON can hold: days as text, tuples as lists."""
    if isinstance(value, dict):
        return {key: json_ready(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    return value.isoformat() if isinstance(value, datetime.date) else value


def block_text(value: dict[str, Any]) -> str:
    """Plain data as canonical YAML, without a header."""
    return str(
        yaml.dump(value, Dumper=_Dumper, width=WIDTH, sort_keys=False, allow_unicode=True, default_flow_style=False)
    )


def recipe_text(recipe: Recipe, path: str) -> str:
    """The whole file for a recipe that will lie at `path` (as its first line names it)."""
    return HEADER.format(path=path) + block_text(plain(recipe))
