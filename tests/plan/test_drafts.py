from pathlib import Path

import pytest

from openrecipes.check.report import check_files
from openrecipes.plan.layout_plan import plan_recipe
from openrecipes.recipe.library import Library
from openrecipes.recipe.read import read_recipe
from openrecipes.shipped import shipped

LIBRARY = Library(root=shipped("recipes"))
SHIPPED = tuple(path for path in LIBRARY.files() if read_recipe(path).recipe.trainer == "slime")
DRAFTS = (
    "qwen3-235b-a22b/h200/openrecipes-tp4-pp2-ep8",
    "qwen3-30b-a3b/h200/openrecipes-tp1-pp4-ep1",
    "qwen3-32b/h200/openrecipes-tp2-pp4",
    "qwen3.5-35b-a3b/h200/openrecipes-tp1-pp2-ep4",
    "qwen3.5-35b-a3b/h200/openrecipes-tp1-pp4-ep2",
    "qwen3.5-397b-a17b/b200/openrecipes-tp2-pp4-ep8",
    "qwen3.5-397b-a17b/h100/openrecipes-tp2-pp4-ep32",
)


def test_the_drafts_are_shipped_and_claim_nothing():
    for name in DRAFTS:
        recipe = read_recipe(LIBRARY.find(name)).recipe
        assert recipe.status == "draft"
        assert recipe.correctness is None
        assert recipe.result.tokens_per_s_per_gpu is None
        assert recipe.result.measured is None
        assert recipe.stack.source == "intended, not measured"


@pytest.mark.parametrize("path", SHIPPED, ids=LIBRARY.short_name)
def test_every_shipped_recipe_of_the_real_trainer_is_legal_and_fits(path: Path):
    plan = plan_recipe(read_recipe(path).recipe).layout
    assert plan.why_not == ()
    assert plan.fits


def test_check_finds_no_error_in_the_drafts():
    report = check_files(tuple(LIBRARY.find(name) for name in DRAFTS), strict=False)
    assert report.errors == ()
    # Their tp pads the vocabulary, which is worth a word and no mistake.
    assert {problem.rule for problem in report.problems} == {"layout-vocabulary"}
