"""The recipe schema as an editor reads it: JSON Schema 2020-12, written as YAML."""

from typing import Any

from openrecipes.recipe.model import Recipe
from openrecipes.recipe.write import block_text

HEADER = (
    "# Generated from the models in openrecipes/recipe/ by `make schema`; edits are overwritten.\n"
    "# In an editor with the YAML language server, a recipe opens with this line:\n"
    "#   # yaml-language-server: $schema=schema/recipe.schema.yaml\n"
)


def recipe_schema() -> dict[str, Any]:
    """The schema document of a recipe, version 1."""
    body = Recipe.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "recipe.schema.yaml",
        "title": "OpenRecipes recipe",
        **{key: value for key, value in body.items() if key != "title"},
    }


def schema_text() -> str:
    """The text of schema/recipe.schema.yaml."""
    return HEADER + block_text(recipe_schema())
