"""The schema of cluster profiles as an editor reads it: JSON Schema 2020-12, written as YAML."""

from typing import Any

from openrecipes.recipe.write import block_text
from openrecipes.targets.profile import Profile

HEADER = (
    "# Generated from the models in openrecipes/targets/ by `make schema`; edits are overwritten.\n"
    "# In an editor with the YAML language server, a cluster profile opens with this line:\n"
    "#   # yaml-language-server: $schema=schema/cluster.schema.yaml\n"
)


def profile_schema() -> dict[str, Any]:
    """The schema document of a cluster profile, version 1."""
    body = Profile.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "cluster.schema.yaml",
        "title": "OpenRecipes cluster profile",
        **{key: value for key, value in body.items() if key != "title"},
    }


def schema_text() -> str:
    """The text of schema/cluster.schema.yaml."""
    return HEADER + block_text(profile_schema())
