"""Cluster profiles as text: their schema for editors (JSON Schema 2020-12, written as YAML), and a profile itself."""

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


def profile_text(profile: Profile) -> str:
    """The profile as YAML, without what is as by default; it reads back as the same profile."""
    said = profile.model_dump(mode="json", exclude_defaults=True)
    return block_text({"schema_version": 1, "name": profile.name, "target": profile.target, **said})
