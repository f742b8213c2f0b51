"""Recipes and real runs compared argument by argument."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from good_recipes import good, text_with
from hypothesis import given, settings
from hypothesis import strategies as st

from openrecipes.catalog.arguments import argument_catalogue, stack_ids
from openrecipes.correctness.configuration import Configuration, configuration
from openrecipes.correctness.effective_arguments import settings_sha256
from openrecipes.correctness.side import Side, side_of, side_of_log
from openrecipes.logs.run_log import read_log
from openrecipes.problems import ProblemsError
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import parse_recipe, read_recipe

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "recipes/qwen3.5-397b-a17b/h200"
SMALL = ROOT / "recipes/qwen3.5-moe-small/h200"
LOGS = ROOT / "tests/data/runs"
H200 = ROOT / "tests/data/logs/h200"


def of_file(path: Path) -> Side:
    return side_of(read_recipe(path).recipe, name=path.stem)


def of_log(recipe: Path, log: Path) -> Side:
    dump = read_log([log]).arguments
    return side_of(read_recipe(recipe).recipe, name=recipe.stem, dump=dump, log=log.name)


def recipe_with(changes: Mapping[str, Any]) -> Recipe:
    return parse_recipe(text_with(good(), changes), "recipes/qwen3.5-397b-a17b/h200/attune-fast.yaml").recipe


def changed(changes: Mapping[str, Any]) -> Configuration:
    """A changed recipe against the unchanged one."""
    return configuration(side_of(recipe_with(changes), name="candidate"), side_of(recipe_with({}), name="reference"))


def with_arguments(**arguments: Any) -> Configuration:
    return changed({"arguments": {"moe_permute_fusion": True, **arguments}})


def judged(found: Configuration) -> dict[str, tuple[str, bool]]:
    """What differs or fails, by name."""
    return {item.name: (item.judged, item.passed) for item in found.items if item.judged != "equal"}


@pytest.mark.parametrize("path", sorted(PUBLISHED.glob("attune-*.yaml")), ids=lambda path: path.stem)
def test_a_recipe_is_equal_to_itself(path: Path) -> None:
    found = configuration(of_file(path), of_file(path))
    assert found.passed
    assert judged(found) == {}
    assert len(found.items) > 850
    assert found.tolerated == ()


def test_two_published_layouts_differ_neutrally() -> None:
    found = configuration(
        of_file(PUBLISHED / "attune-tp2-pp2-ep64.yaml"), of_file(PUBLISHED / "attune-tp1-pp4-ep32.yaml")
    )
    assert found.passed
    assert judged(found) == {
        "--tensor-model-parallel-size": ("neutral", True),
        "--sequence-parallel": ("neutral", True),
        "--pipeline-model-parallel-size": ("neutral", True),
        "--expert-model-parallel-size": ("neutral", True),
    }


def test_a_published_run_of_14_steps_is_another_workload_than_one_of_20() -> None:
    found = configuration(
        of_file(PUBLISHED / "attune-tp2-pp4-ep32.yaml"), of_file(PUBLISHED / "attune-tp1-pp4-ep32.yaml")
    )
    assert not found.passed
    assert judged(found)["--num-rollout"] == ("workload", False)
    assert judged(found)["--moe-permute-fusion"] == ("tolerated", True)
    assert found.components == ("moe-permute-fusion",)
    [schedule] = [rule for rule in found.relations if not rule.passed]
    assert schedule.name == "schedule"
    assert "result.steps_per_run=20" in schedule.faults[0]


def test_the_two_small_recipes_and_their_runs_agree() -> None:
    names = ("openrecipes-tp2-ep2", "openrecipes-tp1-ep2-dp2")
    recipes = [of_file(SMALL / f"{name}.yaml") for name in names]
    runs = [
        of_log(SMALL / f"{name}.yaml", LOGS / f"qwen3.5-moe-small-tp{tp}.log.gz")
        for name, tp in zip(names, (2, 1), strict=True)
    ]
    for pair in (recipes, runs):
        found = configuration(*pair)
        assert found.passed, found.faults
        assert {judgement for judgement, _ in judged(found).values()} == {"neutral"}


def test_what_a_recipe_derives_is_what_its_run_printed() -> None:
    for name, tp in (("openrecipes-tp2-ep2", 2), ("openrecipes-tp1-ep2-dp2", 1)):
        run = of_log(SMALL / f"{name}.yaml", LOGS / f"qwen3.5-moe-small-tp{tp}.log.gz")
        found = configuration(run, of_file(SMALL / f"{name}.yaml"))
        assert found.passed, found.faults
        # The cluster had no flash attention; paths are the site's; two neutral ones come from the machine.
        assert judged(found) == {
            "--attention-backend": ("tolerated", True),
            "--load": ("tolerated", True),
            "--ref-load": ("tolerated", True),
            "--hf-checkpoint": ("neutral", True),
            "--tokenizer-model": ("neutral", True),
            "--prompt-data": ("neutral", True),
            "--exit-signal": ("neutral", True),
            "--inprocess-active-world-size": ("neutral", True),
        }


def test_code_in_a_real_run_is_forbidden_though_both_runs_have_it() -> None:
    recipe, log = SMALL / "openrecipes-tp2-ep2.yaml", H200 / "ok-q35-tp2sp-ep2.log.gz"
    found = configuration(of_log(recipe, log), of_log(recipe, log))
    assert judged(found)["--custom-megatron-init-path"] == ("forbidden", False)
    assert judged(found)["MEMHOOK_OUT"] == ("unknown", False)  # from --train-env-vars
    assert [rule.name for rule in found.relations if not rule.passed] == ["batch"]


@pytest.mark.parametrize(
    ("arguments", "name", "judgement", "passed"),
    [
        ({"overlap_grad_reduce": True}, "--overlap-grad-reduce", "neutral", True),
        ({"use_precision_aware_optimizer": False}, "--use-precision-aware-optimizer", "tolerated", True),
        ({"attention_backend": "fused"}, "--attention-backend", "tolerated", True),
        ({"attention_softmax_in_fp32": False}, "--attention-softmax-in-fp32", "tolerated", False),
        ({"moe_router_fusion": True}, "--moe-router-fusion", "tolerated", True),
        ({"lr": 2e-5}, "--lr", "workload", False),
        ({"adam_beta2": 0.999}, "--adam-beta2", "workload", False),
        ({"clip_grad": 0.5}, "--clip-grad", "workload", False),
        ({"seed": 7}, "--seed", "workload", False),
        ({"rollout_temperature": 0.5}, "--rollout-temperature", "workload", False),
        ({"moe_aux_loss_coeff": 0.01}, "--moe-aux-loss-coeff", "workload", False),
        ({"exp_avg_dtype": "bf16"}, "--exp-avg-dtype", "forbidden", False),
        ({"moe_expert_capacity_factor": 1.0}, "--moe-expert-capacity-factor", "forbidden", False),
        ({"use_stateless_adam": True}, "--use-stateless-adam", "forbidden", False),
        ({"custom_loss_function_path": "my.loss"}, "--custom-loss-function-path", "forbidden", False),
        ({"window_size": "1024,0"}, "--window-size", "forbidden", False),
    ],
)
def test_a_difference_is_judged_by_its_line(arguments: Any, name: str, judgement: str, passed: bool) -> None:
    found = with_arguments(**arguments)
    assert judged(found)[name] == (judgement, passed)
    assert found.passed is passed


def test_a_negative_capacity_factor_drops_nothing() -> None:
    found = with_arguments(moe_expert_capacity_factor=-1.0)
    assert found.passed
    assert judged(found) == {}


def test_forbidden_fails_whatever_the_reference_does() -> None:
    side = side_of(recipe_with({"arguments": {"moe_permute_fusion": True, "use_stateless_adam": True}}), name="both")
    found = configuration(side, side)
    assert judged(found) == {"--use-stateless-adam": ("forbidden", False)}
    assert any("whatever the reference does and the curves say" in fault for fault in found.faults)


def test_a_misspelt_flag_is_unknown_and_fails_even_where_both_have_it() -> None:
    side = side_of(recipe_with({"arguments": {"moe_permute_fusion": True, "moe_permute_fusoin": True}}), name="both")
    found = configuration(side, side)
    assert judged(found) == {"--moe-permute-fusoin": ("unknown", False)}


@pytest.mark.parametrize(
    ("env", "name", "judgement", "passed"),
    [
        ({"NCCL_ALGO": "Ring"}, "NCCL_ALGO", "neutral", True),
        ({"NVTE_FLASH_ATTN": "0"}, "NVTE_FLASH_ATTN", "tolerated", True),
        ({"NVTE_FP8_DPA_BWD": "1"}, "NVTE_FP8_DPA_BWD", "forbidden", False),
        ({"PYTHONPATH": "/tmp/patched"}, "PYTHONPATH", "forbidden", False),
        ({"FAST_MODE": "1"}, "FAST_MODE", "unknown", False),
    ],
)
def test_variables_are_arguments_too(env: dict[str, str], name: str, judgement: str, passed: bool) -> None:
    base = dict(yaml.safe_load(good())["env"])
    found = changed({"env": {**base, **env}})
    assert judged(found) == {name: (judgement, passed)}
    assert found.passed is passed


def test_a_variable_that_the_candidate_leaves_out_is_judged_too() -> None:
    base = dict(yaml.safe_load(good())["env"])
    del base["NCCL_NVLS_ENABLE"]
    assert judged(changed({"env": base})) == {"NCCL_NVLS_ENABLE": ("neutral", True)}


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"workload.row_tokens": 8064, "layout.max_tokens_per_gpu": 8064}, "workload.row_tokens"),
        ({"workload.dataset.rows_sha256": "0" * 64}, "workload.dataset.rows_sha256"),
        ({"workload.dataset.rows_sha256": None}, "workload.dataset.rows_sha256"),
        ({"workload.dataset.build.name": "other-rows"}, "workload.dataset.build.name"),
        ({"result.weights": "random"}, "result.weights"),
    ],
)
def test_rows_and_weights_are_workload_where_no_argument_says_them(changes: dict[str, Any], key: str) -> None:
    assert judged(changed(changes))[key] == ("workload", False)


def test_the_hash_is_of_what_is_in_effect_and_of_nothing_else() -> None:
    one, other = (side_of(recipe_with({}), name=name) for name in ("one", "other"))
    assert settings_sha256(one.effective, one.environment) == settings_sha256(other.effective, other.environment)
    faster = side_of(recipe_with({"arguments": {"moe_permute_fusion": True, "lr": 2e-5}}), name="one")
    assert settings_sha256(faster.effective, faster.environment) != settings_sha256(one.effective, one.environment)


def test_the_evidence_can_be_held_in_a_recipe() -> None:
    evidence = with_arguments(attention_backend="fused", moe_router_fusion=True).evidence()
    assert evidence.classes == "argument-classes/1"
    assert evidence.tolerated == ("--attention-backend", "--moe-router-fusion")
    assert evidence.components == ("router",)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"trainer": "smoke"}, "configuration-trainer"),
        ({"stack.framework": "slime 0.9: THUDM/slime 1234567"}, "configuration-stack"),
    ],
)
def test_what_has_no_classes_is_refused(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(ProblemsError) as refused:
        side_of(recipe_with(changes), name="candidate")
    assert [problem.rule for problem in refused.value.problems] == [rule]


def test_a_log_without_a_dump_is_refused() -> None:
    with pytest.raises(ProblemsError, match="no argument dump"):
        side_of(recipe_with({}), name="candidate", dump={}, log="train.log")


NAMES = st.sampled_from(sorted({argument.dest for argument in argument_catalogue(stack_ids()[0]).arguments}))
TEXTS = st.one_of(
    st.text(max_size=30),
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(
        [
            "None",
            "True",
            "[1]*3",
            "([1",
            "{'A': 'b'}",
            "0",
            "-0.0",
            "1e999",
            "9" * 400,
            "9" * 250,
            "9" * 18,
            "torch.float32",
        ]
    ),
)


@settings(max_examples=40)
@given(ours=st.dictionaries(NAMES, TEXTS, min_size=1, max_size=25), theirs=st.dictionaries(NAMES, TEXTS, min_size=1))
def test_whatever_a_log_prints_is_judged(ours: dict[str, str], theirs: dict[str, str]) -> None:
    found = configuration(side_of_log(ours, "ours.log"), side_of_log(theirs, "theirs.log"))
    document = json.dumps(found.document())
    assert '"result"' in document
    differing = {item.name for item in found.items if item.candidate != item.reference}
    assert differing <= {item.name for item in found.items if item.judged != "equal"}
    again = configuration(side_of_log(ours, "ours.log"), side_of_log(ours, "ours.log"))
    assert {item.judged for item in again.items} <= {"equal", "forbidden", "unknown"}
