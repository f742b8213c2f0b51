from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from varied_recipes import PUBLISHED

from openrecipes.recipe.read import parse_recipe
from openrecipes.recipe.schema import recipe_schema, schema_text
from openrecipes.recipe.write import json_ready

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted((ROOT / "recipes").rglob("*.yaml"))


def _loaded(path: Path) -> Any:
    return json_ready(yaml.safe_load(path.read_text(encoding="utf-8")))


def test_the_schema_file_is_what_the_models_give() -> None:
    assert (ROOT / "schema" / "recipe.schema.yaml").read_text(encoding="utf-8") == schema_text(), "run `make schema`"
    assert yaml.safe_load(schema_text()) == recipe_schema()


def test_the_schema_is_valid_json_schema_2020_12() -> None:
    jsonschema.Draft202012Validator.check_schema(recipe_schema())
    assert recipe_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_recipe_validates(path: Path) -> None:
    jsonschema.Draft202012Validator(recipe_schema()).validate(_loaded(path))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("layout.tp", "two"),
        ("layout.tp", 0),
        ("status", "verfied"),
        ("layout.tpp", 2),
        ("result.window", [1, 2, 3]),
        ("gpu.count", 1.5),
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(key: str, value: object) -> None:
    data = _loaded(PUBLISHED[0])
    *blocks, last = key.split(".")
    here = data
    for block in blocks:
        here = here[block]
    here[last] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(recipe_schema()).validate(data)
    assert not parse_recipe(yaml.safe_dump(data), "f.yaml").complete


def test_every_key_of_the_schema_has_a_description() -> None:
    schema = recipe_schema()
    blocks = [schema, *schema["$defs"].values()]
    keys = [(block.get("title"), name, body) for block in blocks for name, body in block.get("properties", {}).items()]
    assert len(keys) > 80
    for title, name, body in keys:
        of_block = schema["$defs"].get(body.get("$ref", "").rpartition("/")[2], {})
        assert body.get("description") or of_block.get("description"), (title, name)
    assert all(block.get("additionalProperties") is False for block in blocks if "properties" in block)
