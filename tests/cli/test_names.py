"""What the words on the command line name: the folder's own recipes first, then those that come with the package."""

import json
import shutil
from pathlib import Path

import pytest
from called import ROOT, openrecipes

SHIPPED = "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that has recipes of its own, beside which the shipped ones lie elsewhere."""
    own = tmp_path / "recipes/qwen3-32b/h200/mine-tp2-pp4.yaml"
    own.parent.mkdir(parents=True)
    shutil.copy(ROOT / "recipes/qwen3-32b/h200/openrecipes-tp2-pp4.yaml", own)
    return tmp_path


@pytest.mark.parametrize("verb", ["check", "show", "render", "plan"])
def test_each_verb_finds_a_shipped_recipe_beside_own_ones(folder: Path, verb: str) -> None:
    found = openrecipes(verb, SHIPPED, folder=folder)
    assert found.returncode == 0, found.stderr
    assert "no recipe of that short name" not in found.stdout + found.stderr


@pytest.mark.parametrize("verb", ["check", "show"])
def test_a_slip_in_a_shipped_name_is_recognised_beside_own_recipes(folder: Path, verb: str) -> None:
    found = openrecipes(verb, SHIPPED.replace("ep32", "ep31"), "--json", folder=folder)
    (problem,) = json.loads(found.stdout)["problems"]
    assert (found.returncode, problem["mend"]) == (2, f"write {SHIPPED}")


@pytest.mark.parametrize("verb", ["check", "show", "steps", "diagnose"])
def test_an_empty_name_is_not_the_folder(folder: Path, verb: str) -> None:
    found = openrecipes(verb, "", folder=folder)
    assert found.returncode == 2
    assert "an empty name names no" in found.stdout + found.stderr


def test_a_shipped_recipe_has_its_short_name_beside_own_ones(folder: Path) -> None:
    words = ("compare", SHIPPED, SHIPPED.replace("tp2", "tp1"), "--json")
    assert json.loads(openrecipes(*words, folder=folder).stdout) == json.loads(openrecipes(*words).stdout)
