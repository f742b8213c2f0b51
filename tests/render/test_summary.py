"""Label, summary and highlights from the fields."""

import pytest
from hypothesis import given, settings
from varied_recipes import PUBLISHED, changed, layouts, published, smoke

from openrecipes.recipe.read import read_recipe
from openrecipes.render.summary import PERMUTE_FUSION, highlights, label, lists, summary


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_published_labels_and_highlights_follow_from_the_fields(path) -> None:
    recipe = read_recipe(path).recipe
    assert label(recipe) == recipe.layout.label
    assert highlights(recipe) == recipe.layout.highlights


def test_published_summaries_follow_from_the_fields() -> None:
    same = {}
    for path in PUBLISHED:
        recipe = read_recipe(path).recipe
        same[path.stem] = summary(recipe, before=recipe.layout.summary) == recipe.layout.summary
    # One of the three leaves out that it is sequence parallel.
    assert same == {"attune-tp1-pp4-ep32": True, "attune-tp2-pp2-ep64": True, "attune-tp2-pp4-ep32": False}
    recipe = published()
    assert summary(recipe, before=recipe.layout.summary).replace(", sequence parallel", "") == recipe.layout.summary


def test_the_smoke_recipes_words_follow_from_its_fields() -> None:
    assert label(smoke()) == smoke().layout.label
    assert summary(smoke()) == smoke().layout.summary


def test_words_of_the_author_are_kept_and_words_of_fields_are_made_anew() -> None:
    before = published().layout.summary.replace("; alltoall", "; hand-tuned NCCL; alltoall")
    recipe = changed(published(), {"layout.recompute": None, "layout.offload": "optimizer"})
    clauses = summary(recipe, before=before).split("; ")
    assert clauses[-5:] == [
        "precision-aware distributed optimizer",
        PERMUTE_FUSION,
        "hand-tuned NCCL",
        "alltoall dispatcher",
        "optimizer offload",
    ]
    assert "no recompute" in clauses


@pytest.mark.parametrize(("value", "listed"), [(True, True), (False, False), (None, False)])
def test_arguments_decide_what_the_summary_says_of_permute_fusion(value: bool | None, listed: bool) -> None:
    recipe = changed(published(), {"arguments": {"moe_permute_fusion": value}})
    assert lists(summary(recipe, before=recipe.layout.summary), PERMUTE_FUSION) is listed


@given(changes=layouts())
@settings(max_examples=50)
def test_a_summary_made_anew_does_not_change_again(changes: dict[str, object]) -> None:
    recipe = changed(published(), changes)
    once = summary(recipe, before=recipe.layout.summary)
    assert summary(recipe, before=once) == once
    assert lists(once, PERMUTE_FUSION)
