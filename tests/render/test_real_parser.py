"""Every command that layouts give is accepted by slime's own parser, and means what the recipe says."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from varied_recipes import PUBLISHED, changed, published

from openrecipes.catalog.models import hf_config, model
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import read_recipe
from openrecipes.render.command import command

DRIVER = Path(__file__).with_name("slime_parser_driver.py")
FULL = {"granularity": "full", "method": "block", "num_layers": 4}
SELECTIVE = {"granularity": "selective", "method": None, "num_layers": None}
OFFLOAD = {"layout.offload": "activations", "layout.recompute": None, "env.NVTE_CPU_OFFLOAD_V1": "1"}
# Changes to the first published recipe: 128 GPUs, TP2 PP4 EP32 DP16.
VARIED: dict[str, dict[str, Any]] = {
    "vpp": {"layout.vpp": 3},
    "uneven": {"layout.layer_split": (14, 16, 16, 14)},
    "uneven first": {"layout.layer_split": (12, 16, 16, 16)},
    "uneven last": {"layout.layer_split": (16, 16, 16, 12)},
    "uneven of two": {"layout.pp": 2, "layout.dp": 32, "layout.layer_split": (31, 29)},
    "uneven and vpp": {"layout.vpp": 2, "layout.layer_split": (14, 16, 16, 14)},
    "cp": {"layout.cp": 2, "layout.dp": 8, "layout.max_tokens_per_gpu": 4096},
    "etp": {"layout.etp": 2, "layout.ep": 16},
    "block recompute": {"layout.recompute": FULL},
    "selective recompute": {"layout.recompute": SELECTIVE},
    "selective modules": {"layout.recompute": {**SELECTIVE, "modules": ("moe_act", "layernorm")}},
    "no recompute": {"layout.recompute": None},
    "optimizer offload": {"layout.offload": "optimizer"},
    "activation offload": {**OFFLOAD, "arguments": {"offload_modules": ("core_attn", "attn_proj", "expert_fc1")}},
    "flex": {"layout.dispatcher": "flex"},
    "two rows": {"layout.rows_per_microbatch": 2, "layout.max_tokens_per_gpu": 16384},
    "fp16": {"workload.precision": "fp16"},
    "fp8": {"workload.precision": "fp8"},
    "four GPUs a node": {"gpu.per_node": 4},
    "one node": {"gpu.count": 8, "layout.dp": 1, "layout.ep": 2},
    "part of a node": {"gpu.count": 4, "layout.pp": 1, "layout.dp": 2, "layout.ep": 4},
    "arguments": {
        "arguments": {"lr": 2e-5, "clip-grad": 0.5, "attention_backend": "fused", "moe_permute_fusion": True}
    },
    "left out": {"arguments": {"use_precision_aware_optimizer": False, "moe_grouped_gemm": None}},
    "text with spaces": {"arguments": {"train_env_vars": '{"A": "b c $d \'e\'"}'}},
}
MEANS = {
    "tensor_model_parallel_size": lambda r: r.layout.tp,
    "pipeline_model_parallel_size": lambda r: r.layout.pp,
    "virtual_pipeline_model_parallel_size": lambda r: r.layout.vpp if r.layout.vpp > 1 else None,
    "context_parallel_size": lambda r: r.layout.cp,
    "expert_model_parallel_size": lambda r: r.layout.ep,
    "expert_tensor_parallel_size": lambda r: r.layout.etp,
    "data_parallel_size": lambda r: r.layout.dp,
    "world_size": lambda r: r.gpu.count,
    "num_gpus_per_node": lambda r: min(r.gpu.count, r.gpu.per_node),
    "sequence_parallel": lambda r: r.layout.sequence_parallel and r.layout.tp > 1,
    "max_tokens_per_gpu": lambda r: r.layout.max_tokens_per_gpu,
    "use_dynamic_batch_size": lambda r: True,
    "global_batch_size": lambda r: r.workload.global_batch,
    "rollout_batch_size": lambda r: r.workload.global_batch,
    "num_rollout": lambda r: r.result.steps_per_run,
    "recompute_granularity": lambda r: r.layout.recompute and r.layout.recompute.granularity,
    "recompute_method": lambda r: r.layout.recompute and r.layout.recompute.method,
    "recompute_num_layers": lambda r: r.layout.recompute and r.layout.recompute.num_layers,
    "moe_token_dispatcher_type": lambda r: r.layout.dispatcher,
    "optimizer_cpu_offload": lambda r: r.layout.offload == "optimizer",
    "fine_grained_activation_offloading": lambda r: r.layout.offload == "activations",
    "fp16": lambda r: r.workload.precision == "fp16",
    "bf16": lambda r: r.workload.precision != "fp16",
    "fp8": lambda r: "e4m3" if r.workload.precision == "fp8" else None,
    "lr": lambda r: (r.arguments or {}).get("lr", 1e-5),
    "min_lr": lambda r: 1e-6,
    "lr_decay_style": lambda r: "cosine",
    "adam_beta2": lambda r: 0.98,
    "hidden_dropout": lambda r: 0.0,
    "data_pad_size_multiplier": lambda r: 256,
    "distributed_timeout_minutes": lambda r: 30,
    "moe_grouped_gemm": lambda r: "moe_grouped_gemm" not in (r.arguments or {}),
    "use_precision_aware_optimizer": lambda r: "use_precision_aware_optimizer" not in (r.arguments or {}),
    "calculate_per_token_loss": lambda r: True,
    "loss_type": lambda r: "sft_loss",
    "debug_train_only": lambda r: True,
    "num_layers": lambda r: 60,
    "num_experts": lambda r: 512,
    "padded_vocab_size": lambda r: 248320,
}


def ask(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """slime's answers; $SLIME_PYTHON is an interpreter with its imports, this one if not set."""
    python = os.environ.get("SLIME_PYTHON", sys.executable)
    done = subprocess.run([python, str(DRIVER)], input=json.dumps(cases), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def case(recipe: Recipe, folder: Path, extra: tuple[str, ...] = ()) -> dict[str, Any]:
    found = model(recipe.model)
    (folder / "config.json").write_text(json.dumps(hf_config(found)))
    made = command(recipe, found)
    argv = [str(folder) if word == "$HF_CKPT" else word for word in made.argv()]
    return {"argv": [*argv, *extra], "env": {v.name: v.value for v in made.environment if v.kind == "literal"}}


@pytest.mark.slow
@pytest.mark.checkout("SLIME_DIR", "MEGATRON_DIR")
def test_slime_accepts_every_kind_of_layout_and_reads_the_fields_values(tmp_path: Path) -> None:
    recipes = {path.stem: read_recipe(path).recipe for path in PUBLISHED}
    recipes |= {name: changed(published(), changes) for name, changes in VARIED.items()}
    answers = ask([case(recipe, tmp_path) for recipe in recipes.values()])
    wrong = []
    for (name, recipe), answer in zip(recipes.items(), answers, strict=True):
        if answer["error"] or answer["unknown"]:
            wrong.append((name, answer["error"], answer["unknown"]))
        for dest, means in MEANS.items():
            if not answer["error"] and answer["resolved"].get(dest) != means(recipe):
                wrong.append((name, dest, answer["resolved"].get(dest), means(recipe)))
    assert wrong == []
    assert len(answers) == len(PUBLISHED) + len(VARIED)


@pytest.mark.slow
@pytest.mark.checkout("SLIME_DIR", "MEGATRON_DIR")
def test_the_oracle_sees_what_is_wrong(tmp_path: Path) -> None:
    wrong = (("--max-tokens-per-gpuu", "99"), ("--lr", "abc"), ("--recompute-modules", "no_such_module"))
    selective = changed(published(), {"layout.recompute": SELECTIVE})
    unknown, bad_value, bad_module = ask([case(selective, tmp_path, extra) for extra in wrong])
    assert unknown["unknown"] == ["--max-tokens-per-gpuu"]
    assert "SystemExit" in bad_value["error"]
    assert "no_such_module" in bad_module["error"]
