"""A recipe's `arguments`: laid over the published defaults, and what they may not name."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from varied_recipes import changed, published, smoke

from openrecipes.catalog.models import model
from openrecipes.problems import ProblemsError
from openrecipes.recipe.model import ArgumentValue, Recipe
from openrecipes.render.command import command
from openrecipes.render.ownership import FIELD_OF, SMOKE_FIELD_OF
from openrecipes.render.settings import flag_of
from openrecipes.render.smoke_arguments import SMOKE_FLAGS
from openrecipes.render.training_arguments import PUBLISHED_DEFAULTS, default_lines, published_default
from openrecipes.units import on_a_command_line

ROOT = Path(__file__).resolve().parent.parent.parent


def with_arguments(**arguments: ArgumentValue) -> Recipe:
    return changed(published(), {"arguments": arguments})


def flags(recipe: Recipe) -> dict[str, tuple[str, ...]]:
    return {found.flag: found.values for found in command(recipe, model(recipe.model)).arguments}


def problems(recipe: Recipe) -> list[tuple[str, str]]:
    with pytest.raises(ProblemsError) as caught:
        command(recipe, model(recipe.model))
    return [(problem.place.key, problem.rule) for problem in caught.value.problems]


def order(recipe: Recipe) -> list[str]:
    return list(flags(recipe))


def test_a_default_is_replaced_in_its_place() -> None:
    assert flags(with_arguments(lr=2e-5))["--lr"] == ("2e-5",)
    assert order(with_arguments(lr=2e-5)) == order(published())


def test_what_is_new_comes_at_the_end_in_the_recipes_order() -> None:
    recipe = with_arguments(seed=7, clip_grad=0.5)
    assert order(recipe) == [*order(published()), "--seed", "--clip-grad"]


@pytest.mark.parametrize("value", [False, None])
def test_false_and_null_leave_a_default_out(value: None) -> None:
    recipe = with_arguments(use_precision_aware_optimizer=value, lr_warmup_fraction=value, something_else=value)
    gone = set(order(published())) - set(order(recipe))
    assert gone == {"--use-precision-aware-optimizer", "--lr-warmup-fraction"}
    assert set(order(recipe)) <= set(order(published()))


def test_true_is_the_bare_flag_and_a_list_has_its_items() -> None:
    found = flags(with_arguments(overlap_grad_reduce=True, offload_modules=("core_attn", "attn_proj"), window=(1, 2)))
    assert found["--overlap-grad-reduce"] == ()
    assert found["--offload-modules"] == ("core_attn", "attn_proj")
    assert found["--window"] == ("1", "2")


def test_a_convention_of_the_model_scripts_may_be_overridden_in_model_args() -> None:
    recipe = with_arguments(moe_aux_loss_coeff=1e-3)
    found = {a.flag: (a.values, a.origin) for a in command(recipe, model(recipe.model)).model_arguments}
    assert found["--moe-aux-loss-coeff"] == (("0.001",), "arguments.moe_aux_loss_coeff")


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("tensor_model_parallel_size", 4, "argument-field"),
        ("recompute-granularity", "full", "argument-field"),
        ("num_layers", 30, "argument-model"),
        ("num-experts", 8, "argument-model"),
        ("hf_checkpoint", "/models", "argument-launch"),
        ("loss_type", "policy_loss", "argument-task"),
        ("lr", True, "argument-value"),
        ("use_distributed_optimizer", 3, "argument-value"),
        ("offload_modules", (), "argument-value"),
        ("optimizer", "--adam", "argument-value"),
        ("wandb_project", "a\0b", "argument-value"),
    ],
)
def test_what_else_decides_a_flag_and_what_no_command_line_carries_is_refused(
    key: str, value: ArgumentValue, rule: str
) -> None:
    assert problems(with_arguments(**{key: value})) == [(f"arguments.{key}", rule)]


def test_a_flag_that_stands_twice_is_refused() -> None:
    assert problems(with_arguments(**{"min_lr": 1e-6, "min-lr": 1e-7})) == [("arguments.min-lr", "argument-twice")]


def test_all_problems_come_at_once() -> None:
    assert len(problems(with_arguments(tensor_model_parallel_size=4, num_layers=3, lr=True))) == 3


@pytest.mark.parametrize("value", [-1, -1e-3, "-1", "-0.5"])
def test_a_negative_number_is_a_value(value: ArgumentValue) -> None:
    assert flags(with_arguments(log_probs_chunk_size=value))["--log-probs-chunk-size"]


def test_a_field_owns_each_flag_that_it_renders() -> None:
    fields = ("layout.", "gpu.", "result.", "workload.global", "workload.precision")
    rendered = {a.flag for a in command(published(), model(published().model)).arguments if a.origin.startswith(fields)}
    assert rendered <= FIELD_OF.keys()
    assert len(rendered) > 12
    found = {a.flag for a in command(smoke(), model(smoke().model)).arguments if a.origin.startswith(fields)}
    assert found <= SMOKE_FIELD_OF.keys()


@given(value=st.floats(allow_nan=False, allow_infinity=False) | st.integers())
def test_a_number_reads_back_as_itself(value: float) -> None:
    assert float(on_a_command_line(value)) == float(value)
    assert "e-0" not in on_a_command_line(value)
    assert "+" not in on_a_command_line(value)


@pytest.mark.parametrize(
    ("value", "text"), [(1e-5, "1e-5"), (2.5e-7, "2.5e-7"), (0.1, "0.1"), (1e22, "1e22"), (10000000, "10000000")]
)
def test_numbers_are_written_as_people_write_them(value: float, text: str) -> None:
    assert on_a_command_line(value) == text


def test_the_two_flags_with_an_underscore_keep_it() -> None:
    assert flag_of("override_opt_param_scheduler") == "--override-opt_param-scheduler"
    assert flag_of("use-checkpoint-opt-param-scheduler") == "--use-checkpoint-opt_param-scheduler"
    assert flag_of("min_lr") == flag_of("min-lr") == "--min-lr"


def test_the_published_defaults_are_read_from_their_lines() -> None:
    assert published_default("--lr") == "1e-5"
    assert published_default("--use-distributed-optimizer") == "on"
    assert published_default("--seed") is None
    assert " ".join(line.text for line in default_lines()) == " ".join(PUBLISHED_DEFAULTS)


def test_the_smoke_trainers_flags_are_those_of_its_script() -> None:
    tree = ast.parse((ROOT / "launch" / "smoke_sft.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "add"]
    assert {ast.literal_eval(call.args[0]): _kind_read(call) for call in calls} == SMOKE_FLAGS


def _kind_read(call: ast.Call) -> object:
    """What `add(...)` reads, as SMOKE_FLAGS words it."""
    options = {keyword.arg: keyword.value for keyword in call.keywords}
    if "choices" in options:
        return ast.literal_eval(options["choices"])
    if "action" in options:
        return "switch"
    kind = options.get("type")
    return kind.id if isinstance(kind, ast.Name) and kind.id != "Path" else "text"


def test_the_smoke_trainer_refuses_a_flag_it_has_not_and_names_the_nearest() -> None:
    recipe = changed(smoke(), {"arguments": {"clip_grads": 1.0}})
    with pytest.raises(ProblemsError, match="write clip_grad,") as caught:
        command(recipe, model(recipe.model))
    assert [problem.rule for problem in caught.value.problems] == ["argument-unknown"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("layout.tp", 2),
        ("layout.vpp", 2),
        ("layout.sequence_parallel", True),
        ("layout.recompute", {"granularity": "full", "method": "uniform", "num_layers": 1}),
        ("layout.offload", "optimizer"),
        ("workload.precision", "bf16"),
        ("gpu.count", 4),
    ],
)
def test_the_smoke_trainer_refuses_what_it_has_not(key: str, value: object) -> None:
    assert problems(changed(smoke(), {key: value})) == [(key, "render-smoke")]
