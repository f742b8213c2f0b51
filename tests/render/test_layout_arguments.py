"""Layouts beyond the published ones, as flags."""

from typing import Any

import pytest
from varied_recipes import changed, published

from openrecipes.catalog.models import model
from openrecipes.problems import ProblemsError
from openrecipes.render.command import command

FLAGS = {flag.flag for flag in command(published(), model(published().model)).arguments}
OFFLOADED = {"layout.offload": "activations", "layout.recompute": None}


def new(changes: dict[str, Any]) -> list[tuple[str, ...]]:
    """What the changes add to the published command."""
    recipe = changed(published(), changes)
    return [found.argv for found in command(recipe, model(recipe.model)).arguments if found.flag not in FLAGS]


@pytest.mark.parametrize(
    ("changes", "added"),
    [
        ({"layout.vpp": 3}, [("--num-virtual-stages-per-pipeline-rank", "3")]),
        ({"layout.layer_split": (15, 15, 15, 15)}, []),
        ({"layout.layer_split": (12, 16, 16, 16)}, [("--decoder-first-pipeline-num-layers", "12")]),
        ({"layout.layer_split": (16, 16, 16, 12)}, [("--decoder-last-pipeline-num-layers", "12")]),
        (
            {"layout.layer_split": (14, 16, 16, 14)},
            [("--decoder-first-pipeline-num-layers", "14"), ("--decoder-last-pipeline-num-layers", "14")],
        ),
        ({"layout.pp": 2, "layout.layer_split": (31, 29)}, [("--decoder-first-pipeline-num-layers", "31")]),
        ({"layout.pp": 1, "layout.layer_split": (60,)}, []),
        ({"layout.dispatcher": "flex"}, [("--moe-flex-dispatcher-backend", "deepep")]),
        ({"layout.offload": "optimizer"}, [("--optimizer-cpu-offload",), ("--overlap-cpu-optimizer-d2h-h2d",)]),
        ({"gpu.per_node": 4}, [("--num-gpus-per-node", "4")]),
        ({"gpu.count": 4}, [("--num-gpus-per-node", "4")]),
        ({"workload.precision": "fp16"}, [("--fp16",)]),
        ({"workload.precision": "fp8"}, [("--fp8-format", "e4m3"), ("--fp8-recipe", "blockwise")]),
        (
            {"layout.recompute": {"granularity": "selective", "method": None, "num_layers": None, "modules": ("mlp",)}},
            [("--recompute-modules", "mlp")],
        ),
        (
            {**OFFLOADED, "env.NVTE_CPU_OFFLOAD_V1": "1", "arguments": {"offload_modules": ("core_attn",)}},
            [("--fine-grained-activation-offloading",), ("--offload-modules", "core_attn")],
        ),
    ],
)
def test_each_choice_of_a_layout_has_its_flags(changes: dict[str, Any], added: list[tuple[str, ...]]) -> None:
    assert new(changes) == added


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        ({"layout.layer_split": (10, 15, 20, 15)}, ["layout-split-middle"]),
        ({"layout.layer_split": (20, 20, 20)}, ["layout-split-stages"]),
        ({"layout.layer_split": (16, 16, 16, 16)}, ["layout-split-layers"]),
        ({"layout.layer_split": (13, 15, 15, 17), "layout.vpp": 2}, ["layout-split-vpp"]),
        ({"layout.pp": 1, "layout.vpp": 2}, ["layout-vpp"]),
        ({"layout.rows_per_microbatch": 2}, ["layout-max-tokens"]),
        ({"gpu.count": 12}, ["layout-nodes"]),
        ({"layout.dispatcher": "allgather"}, ["layout-allgather"]),
        ({"workload.precision": "fp32"}, ["render-precision"]),
        (OFFLOADED, ["render-offload-env", "render-offload-modules"]),
        (
            {"layout.offload": "optimizer", "arguments": {"use_precision_aware_optimizer": False}},
            ["render-offload-optimizer"],
        ),
    ],
)
def test_what_no_flag_can_say_is_refused(changes: dict[str, Any], rules: list[str]) -> None:
    recipe = changed(published(), changes)
    with pytest.raises(ProblemsError) as caught:
        command(recipe, model(recipe.model))
    assert [problem.rule for problem in caught.value.problems] == rules


def test_a_model_without_experts_has_no_performance_arguments() -> None:
    from openrecipes.render.model_arguments import performance_arguments

    recipe = changed(published(), {"layout.dispatcher": None})
    assert performance_arguments(recipe, model(recipe.model)) != ()
    dense = _dense()
    assert performance_arguments(recipe, dense) == ()
    flags = [argument.flag for argument in command(recipe, dense).arguments]
    assert not [flag for flag in flags if flag.startswith("--moe")]


def _dense() -> Any:
    from openrecipes.catalog.models import model_from

    entry = model("Qwen3.5-MoE-mini").entry.model_dump()
    config = {key: value for key, value in entry["config"].items() if "expert" not in key and "moe" not in key}
    data = {**entry, "name": "Dense", "model_type": "qwen3_5_text", "config": {**config, "intermediate_size": 512}}
    return model_from(data)
