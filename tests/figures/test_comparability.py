from dataclasses import asdict

import pytest
from varied_recipes import published, smoke

from openrecipes.figures.comparability import comparable, differing


def test_a_recipe_is_comparable_with_itself() -> None:
    assert not list(differing(comparable(published()), comparable(published())))


@pytest.mark.parametrize(
    ("block", "change", "field"),
    [
        ("", {"model": "Qwen3-32B"}, "model"),
        ("gpu", {"type": "H100"}, "gpu"),
        ("workload", {"row_tokens": 4096}, "row_tokens"),
        ("workload", {"global_batch": 256}, "global_batch"),
        ("workload", {"precision": "fp8"}, "precision"),
        ("workload.dataset", {"rows_sha256": "0" * 64}, "rows"),
        ("", {"arguments": {"moe-router-force-load-balancing": True}}, "routing"),
        ("", {"arguments": {"moe_router_force_biased": 0.5}}, "routing"),
        ("result", {"weights": "random"}, "weights"),
        ("result", {"window": (10, 13)}, "rule"),
        ("result", {"timer": "train_time"}, "timer"),
    ],
)
def test_each_part_of_the_key_tells_two_results_apart(block: str, change: dict[str, object], field: str) -> None:
    recipe = published()
    changed = recipe
    if block:
        *outer, last = block.split(".")
        inner = getattr(recipe.workload if outer else recipe, last).model_copy(update=change)
        change = {outer[0]: recipe.workload.model_copy(update={last: inner})} if outer else {last: inner}
    changed = recipe.model_copy(update=change)
    assert [one.field for one in differing(comparable(recipe), comparable(changed))] == [field]


@pytest.mark.parametrize("value", [False, None])
def test_routing_that_is_forced_off_is_learned(value: object) -> None:
    recipe = published().model_copy(update={"arguments": {"moe_router_force_load_balancing": value}})
    assert comparable(recipe).routing == "learned"


def test_layout_author_and_gpu_count_are_no_part_of_the_key() -> None:
    recipe = published()
    changed = recipe.model_copy(
        update={
            "layout": recipe.layout.model_copy(update={"tp": 4, "label": "TP4"}),
            "gpu": recipe.gpu.model_copy(update={"count": 64}),
            "author": recipe.author.model_copy(update={"name": "Else"}),
        }
    )
    assert comparable(recipe) == comparable(changed)


def test_smoke_runs_always_start_from_random_weights() -> None:
    assert comparable(smoke()).weights == "random"


def test_a_difference_names_both_values_and_every_field_has_a_word() -> None:
    one, other = comparable(published()), comparable(smoke())
    assert len(asdict(one)) == 10
    texts = [str(found) for found in differing(one, other)]
    assert "model: Qwen3.5-397B-A17B and Qwen3.5-MoE-mini" in texts
    assert "weights: pre-trained and random" in texts
    assert "tokens a row: 8,192 and 256" in texts
