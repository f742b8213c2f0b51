"""The bundles that lie in evidence/: each verifies, and is of the recipe beside whose name it lies."""

from pathlib import Path

import pytest

from openrecipes.evidence.verify import held_against, verify
from openrecipes.recipe.read import read_recipe
from openrecipes.verdict.badge import verdict

ROOT = Path(__file__).resolve().parents[2]
BUNDLES = sorted((ROOT / "evidence").rglob("*.tar.gz"))
# Ours alone: the other measured recipes were published without logs.
MEASURED = [
    path
    for path in sorted((ROOT / "recipes").rglob("openrecipes-*.yaml"))
    if read_recipe(path).recipe.result.log_sha256 is not None
]


@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.stem)
def test_every_figure_of_a_published_bundle_is_derived_again(path: Path) -> None:
    name = path.relative_to(ROOT / "evidence").as_posix().removesuffix(".tar.gz")
    recipe = ROOT / "recipes" / f"{name}.yaml"
    found = held_against(verify(path), path, recipe)
    assert found.ok, found.problems
    assert len(found.figures) >= 20
    badge = verdict(read_recipe(recipe).recipe).badge
    assert badge == ("verified" if name == "qwen3.5-moe-small/h200/openrecipes-tp2-ep2" else "measured")


def test_each_recipe_that_we_measured_has_its_bundle() -> None:
    wanted = [path.relative_to(ROOT / "recipes").as_posix().removesuffix(".yaml") for path in MEASURED]
    assert len(wanted) == 6
    assert wanted == [path.relative_to(ROOT / "evidence").as_posix().removesuffix(".tar.gz") for path in BUNDLES]
