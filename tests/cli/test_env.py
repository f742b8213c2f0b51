"""`openrecipes env` as a person calls it."""

import json
import sys
from pathlib import Path

import pytest
from called import openrecipes
from made_bundles import RECIPES, environment, made_run

from openrecipes.recipe.model import Stack
from openrecipes.stack import capture


@pytest.fixture
def yaml_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spares the import of torch, which tests/stack makes once."""
    monkeypatch.setattr(capture, "MODULES", {"yaml": ("pyyaml",)})


@pytest.mark.usefixtures("yaml_alone")
def test_json_is_the_stack_block_and_the_whole_capture() -> None:
    done = openrecipes("env", "--json")
    document = json.loads(done.stdout)
    captured = document.pop("captured")
    assert done.returncode == 0
    assert Stack.model_validate(document).python == sys.version.split()[0]
    assert captured["python"] == document["python"]
    assert captured["variables"] == {}
    assert captured["loaded"]["yaml"]["version"]


@pytest.mark.usefixtures("yaml_alone")
def test_people_get_a_table() -> None:
    done = openrecipes("env", "--timeout", "30")
    assert done.returncode == 0
    assert f"python              {sys.version.split()[0]}" in done.stdout


PUBLISHED = "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"


def test_a_job_is_held_against_a_recipe_field_by_field(tmp_path: Path) -> None:
    run, _ = made_run(tmp_path / "run")
    done = openrecipes("env", "--run", str(run.root), "--against", PUBLISHED, "--json")
    assert done.returncode == 0, done.stderr
    drift = {field["field"]: field["status"] for field in json.loads(done.stdout)["drift"]}
    assert (drift["transformer_engine"], drift["python"], drift["nccl"]) == ("same", "same", "unknown")
    assert set(drift.values()) <= {"same", "tolerated", "different", "unknown"}
    assert "2 same" in openrecipes("env", "--run", str(run.root), "--against", PUBLISHED).stdout


def test_strict_makes_a_different_field_an_error(tmp_path: Path) -> None:
    run, _ = made_run(tmp_path / "run", env=environment(python="3.9.1"))
    assert openrecipes("env", "--run", str(run.root), "--against", PUBLISHED).returncode == 0
    assert openrecipes("env", "--run", str(run.root), "--against", PUBLISHED, "--strict").returncode == 1


def test_write_touches_the_stack_of_the_recipe_alone(tmp_path: Path) -> None:
    run, _ = made_run(tmp_path / "run")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_bytes(RECIPES["tp2"].read_bytes())
    refused = openrecipes("env", "--run", str(run.root), "--write", str(recipe))
    assert refused.returncode == 1
    assert "[stack-loses]" in refused.stderr
    assert openrecipes("env", "--run", str(run.root), "--write", str(recipe), "--force").returncode == 0
    changed = [line for line in recipe.read_text().splitlines() if line not in RECIPES["tp2"].read_text().splitlines()]
    assert any("inside the job of run" in line for line in changed)
    assert all(line.startswith("  ") for line in changed)


def test_a_folder_that_is_no_run_is_wrong_usage(tmp_path: Path) -> None:
    assert openrecipes("env", "--run", str(tmp_path)).returncode == 2
