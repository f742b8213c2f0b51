"""Each rule between arguments holds for good recipes, and each has a change that breaks it and no other."""

from pathlib import Path
from typing import Any

import pytest

from openrecipes.correctness.argument_classes import argument_classes
from openrecipes.correctness.derivations import DERIVATIONS
from openrecipes.correctness.effective_arguments import Effective, Setting
from openrecipes.correctness.relations import relations
from openrecipes.correctness.side import Side, side_of
from openrecipes.correctness.versions import version_in
from openrecipes.recipe.read import read_recipe

ROOT = Path(__file__).resolve().parents[2]
RECIPE = read_recipe(ROOT / "recipes/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32.yaml").recipe
GOOD = side_of(RECIPE, name="recipe")


def side(**values: Any) -> Side:
    """The good side with other values in effect, under a name of its own."""
    settings = {**GOOD.effective.settings, **{k: Setting(value=str(v), origin="test") for k, v in values.items()}}
    effective = Effective(source="changed", settings=settings)
    return Side(
        name="changed",
        recipe=values.pop("recipe", RECIPE),
        effective=effective,
        catalogue=GOOD.catalogue,
        of_the_model=GOOD.of_the_model,
    )


def broken(candidate: Side, reference: Side = GOOD) -> dict[str, tuple[str, ...]]:
    return {rule.name: rule.faults for rule in relations(candidate, reference, argument_classes()) if not rule.passed}


BREAKS: dict[str, dict[str, Any]] = {
    "batch": {"rollout_batch_size": 100},
    "sequence-parallel": {"sequence_parallel": False},
    "experts": {"num_experts": 500},
    "layers": {"num_virtual_stages_per_pipeline_rank": 2, "pipeline_model_parallel_layout": "Et*60L"},
    "context-parallel": {"hierarchical_context_parallel_sizes": "[2, 2]"},
    "packing": {"micro_batch_size": 2, "hidden_dropout": 0.1},
    "schedule": {"lr_decay_iters": 20},
    "vocabulary": {"padded_vocab_size": 248832},
    "aux-loss": {"tensor_model_parallel_size": 4, "moe_aux_loss_coeff": 0.01},
    "precision-aware": {"exp_avg_dtype": "bf16"},
}


def test_the_good_recipe_breaks_no_rule() -> None:
    assert broken(GOOD) == {}


@pytest.mark.parametrize("rule", BREAKS)
def test_each_rule_is_broken_by_its_change_alone(rule: str) -> None:
    found = broken(side(**BREAKS[rule]))
    assert set(found) == {rule}
    assert all("changed" in fault or " against " in fault for fault in found[rule])


def test_every_rule_has_a_change_that_breaks_it() -> None:
    names = {rule.name for rule in relations(GOOD, GOOD, argument_classes())}
    assert names - set(BREAKS) == {"permute-fusion"}


def test_fused_permutation_needs_a_transformer_engine_that_has_it() -> None:
    stack = RECIPE.stack.model_copy(update={"transformer_engine": "2.0.0"})
    old = RECIPE.model_copy(update={"stack": stack})
    assert set(broken(side(recipe=old))) == {"permute-fusion"}
    assert set(broken(side(recipe=old, moe_permute_fusion=False))) == set()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"micro_batch_size": 2, "calculate_per_token_loss": False}, "without per-token loss"),
        ({"balance_data": True, "rollout_batch_size": 256}, "between the steps of a rollout"),
    ],
)
def test_rows_may_be_grouped_otherwise_only_where_that_is_neutral(values: dict[str, Any], said: str) -> None:
    assert any(said in fault for fault in broken(side(**values))["packing"])


def test_moments_below_fp32_need_the_precision_aware_optimizer_and_are_refused_with_it_too() -> None:
    without = side(exp_avg_dtype="bf16", use_precision_aware_optimizer=False)
    assert "which Megatron refuses" in broken(without)["precision-aware"][0]
    assert "states below FP32" in broken(side(exp_avg_dtype="bf16"))["precision-aware"][0]


def test_an_expert_degree_that_does_not_divide_the_gpus_is_seen() -> None:
    assert "128 GPUs / (etp 1 x ep 64 x pp 4)" in broken(side(expert_model_parallel_size=64))["experts"][0]


def test_derivations_change_nothing_once_they_have_run() -> None:
    plain = {name: setting.value for name, setting in GOOD.effective.settings.items()}
    for derivation in DERIVATIONS:
        again = derivation.change(plain)
        assert {name: plain[name] for name in again} == dict(again), derivation.says


@pytest.mark.parametrize(
    ("text", "version"), [("2.10.0", (2, 10)), ("TE 2.1.0+abc", (2, 1)), ("built from main", None), ("", None)]
)
def test_a_version_is_read_from_words(text: str, version: tuple[int, int] | None) -> None:
    assert version_in(text) == version
