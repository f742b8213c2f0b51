import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", _generate().GENERATED)
def test_a_generated_file_is_what_the_code_gives(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == _generate().GENERATED[name](), "run `make docs`"


def test_rules_and_schema_are_among_the_generated_files() -> None:
    assert {"docs/rules.md", "schema/recipe.schema.yaml"} <= set(_generate().GENERATED)
