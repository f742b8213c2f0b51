"""The command of a recipe, from its fields alone."""

import os
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from varied_recipes import PUBLISHED, SMOKE, changed, layouts, published, smoke

from openrecipes.catalog.arguments import argument_catalogue, stack_ids
from openrecipes.catalog.models import model
from openrecipes.problems import ProblemsError
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import read_recipe
from openrecipes.render.command import Command, command, command_text, text_of


def made(recipe: Recipe) -> Command:
    return command(recipe, model(recipe.model))


def text(recipe: Recipe) -> str:
    return command_text(recipe, model(recipe.model))


def values(argv: tuple[str, ...] | list[str]) -> dict[str, list[str]]:
    """Flags with their values, each flag once."""
    found: dict[str, list[str]] = {}
    for word in argv:
        if word.startswith("--"):
            assert word not in found
            found[word] = []
        elif found:
            found[next(reversed(found))].append(word)
    return found


@pytest.mark.parametrize("path", [*PUBLISHED, SMOKE], ids=lambda path: path.stem)
def test_the_text_is_the_published_run_byte_for_byte(path: Path) -> None:
    recipe = read_recipe(path).recipe
    assert text(recipe) == recipe.run


@pytest.mark.parametrize("path", [*PUBLISHED, SMOKE], ids=lambda path: path.stem)
def test_the_text_never_echoes_run(path: Path) -> None:
    recipe = read_recipe(path).recipe
    assert text(changed(recipe, {"run": "echo something else\n"})) == recipe.run


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("layout.tp", 1),
        ("layout.pp", 2),
        ("layout.ep", 16),
        ("layout.etp", 2),
        ("layout.sequence_parallel", False),
        ("layout.max_tokens_per_gpu", 8200),
        ("layout.recompute", None),
        ("layout.offload", "optimizer"),
        ("workload.global_batch", 256),
        ("workload.precision", "fp16"),
        ("result.steps_per_run", 20),
        ("gpu.count", 64),
        ("env.NCCL_DEBUG", "INFO"),
        ("arguments", {"lr": 2e-5}),
    ],
)
def test_every_field_reaches_the_text(key: str, value: object) -> None:
    assert text(changed(published(), {key: value})) != published().run


def test_what_is_launched_is_slimes_entry_with_model_args_expanded() -> None:
    argv = made(published()).argv()
    assert argv[0] == "train_async.py"
    assert "--async" not in argv
    assert "${MODEL_ARGS[@]}" not in argv
    flags = values(argv)
    assert flags["--spec"] == ["slime_plugins.models.qwen3_5", "get_qwen3_5_spec"]
    assert flags["--num-experts"] == ["512"]
    assert flags["--moe-token-dispatcher-type"] == ["alltoall"]
    assert flags["--hf-checkpoint"] == ["$HF_CKPT"]


def test_model_args_are_the_models_arguments_and_the_performance_choices() -> None:
    found = [argument.argv for argument in made(published()).model_arguments]
    architecture = [argument.argv for argument in model(published().model).architecture_arguments()]
    choices = [("--moe-grouped-gemm",), ("--moe-permute-fusion",), ("--moe-token-dispatcher-type", "alltoall")]
    assert found == architecture + choices


def test_permute_fusion_follows_the_summary_and_says_that_it_is_inferred() -> None:
    has = {path.stem: "--moe-permute-fusion" in made(read_recipe(path).recipe).argv() for path in PUBLISHED}
    assert has == {"attune-tp1-pp4-ep32": False, "attune-tp2-pp2-ep64": False, "attune-tp2-pp4-ep32": True}
    origins = {argument.flag: argument.origin for argument in made(published()).arguments}
    assert origins["--moe-permute-fusion"] == "inferred from layout.summary"


@pytest.mark.parametrize("key", ["moe_permute_fusion", "moe-permute-fusion"])
def test_arguments_decide_permute_fusion_over_the_summary(key: str) -> None:
    with_it, without = published(), published("tp1-pp4-ep32")
    assert "--moe-permute-fusion" not in made(changed(with_it, {"arguments": {key: False}})).argv()
    asked = made(changed(without, {"arguments": {key: True}}))
    origins = {argument.flag: argument.origin for argument in asked.model_arguments}
    assert origins["--moe-permute-fusion"] == f"arguments.{key}"


def test_words_that_only_resemble_permute_fusion_do_not_count() -> None:
    summary = published().layout.summary.replace("MoE permute fusion", "no MoE permute fusion")
    assert "--moe-permute-fusion" not in made(changed(published(), {"layout.summary": summary})).argv()


def test_every_argument_has_an_origin() -> None:
    arguments = made(published()).arguments
    assert all(argument.origin for argument in arguments)
    origins = {argument.flag: argument.origin for argument in arguments}
    assert origins["--tensor-model-parallel-size"] == "layout.tp"
    assert origins["--lr"] == "published default"
    assert origins["--num-layers"] == "Qwen3.5-397B-A17B: config.json:num_hidden_layers"


def test_origins_given_replace_those_of_the_keys() -> None:
    given_ = {"layout.tp": "--set layout.tp", "gpu.count": "--set gpu.count", "env.NCCL_NVLS_ENABLE": "profile x"}
    found = command(published(), model(published().model), given_)
    origins = {argument.flag: argument.origin for argument in found.arguments}
    assert origins["--tensor-model-parallel-size"] == "--set layout.tp"
    assert origins["--actor-num-nodes"] == "--set gpu.count / gpu.per_node"
    assert {value.name: value.origin for value in found.environment}["NCCL_NVLS_ENABLE"] == "profile x"


def test_only_the_paths_are_variables() -> None:
    found = {argument.flag: argument.values for argument in made(published()).arguments if argument.is_variable}
    assert found == {
        "--hf-checkpoint": ("$HF_CKPT",),
        "--ref-load": ("$TORCH_DIST",),
        "--prompt-data": ("$SFT_DATA",),
    }


def test_a_recipe_that_cannot_be_written_as_flags_is_refused_with_all_reasons() -> None:
    bad = changed(
        published(),
        {
            "layout.layer_split": (10, 15, 20, 15),
            "workload.precision": "fp32",
            "arguments": {"tensor-model-parallel-size": 4, "min_lr": True},
        },
    )
    with pytest.raises(ProblemsError) as caught:
        made(bad)
    found = [(problem.place.key, problem.rule) for problem in caught.value.problems]
    assert found == [
        ("arguments.min_lr", "argument-value"),
        ("arguments.tensor-model-parallel-size", "argument-field"),
        ("layout.layer_split", "layout-split-middle"),
        ("workload.precision", "render-precision"),
    ]


@given(changes=layouts())
@settings(max_examples=100)
def test_the_text_parses_back_to_the_layout(changes: dict[str, object]) -> None:
    recipe = changed(published(), changes)
    flags = values(shlex.split(text(recipe).replace("\\\n", "")))
    layout, gpu = recipe.layout, recipe.gpu
    assert int(flags["--tensor-model-parallel-size"][0]) == layout.tp
    assert int(flags["--pipeline-model-parallel-size"][0]) == layout.pp
    assert int(flags["--context-parallel-size"][0]) == layout.cp
    assert int(flags["--expert-model-parallel-size"][0]) == layout.ep
    assert int(flags["--expert-tensor-parallel-size"][0]) == layout.etp
    assert int(flags.get("--num-virtual-stages-per-pipeline-rank", ["1"])[0]) == layout.vpp
    assert ("--sequence-parallel" in flags) == layout.sequence_parallel
    assert int(flags["--max-tokens-per-gpu"][0]) * layout.cp // 8192 == layout.rows_per_microbatch
    nodes, per_node = int(flags["--actor-num-nodes"][0]), int(flags["--actor-num-gpus-per-node"][0])
    assert nodes * per_node == gpu.count == layout.tp * layout.pp * layout.cp * layout.dp
    assert int(flags.get("--num-gpus-per-node", ["8"])[0]) == per_node
    assert flags.get("--recompute-granularity") == (layout.recompute and [layout.recompute.granularity])
    assert int(flags["--num-rollout"][0]) == recipe.result.steps_per_run
    assert flags["--rollout-batch-size"] == flags["--global-batch-size"] == [str(recipe.workload.global_batch)]


@given(changes=layouts())
@settings(max_examples=50)
def test_the_trainers_parser_knows_every_flag_that_a_layout_gives(changes: dict[str, object]) -> None:
    (stack,) = stack_ids()
    known = argument_catalogue(stack).parser
    flags = {argument.flag for argument in made(changed(published(), changes)).arguments}
    unknown = [flag for flag in flags if known.find(flag) is None]
    assert unknown == []


@given(changes=layouts())
@settings(max_examples=50)
def test_the_text_and_the_argv_say_the_same(changes: dict[str, object]) -> None:
    found = made(changed(published(), changes))
    model_args = [argument for argument in found.arguments if argument in found.model_arguments]
    words = shlex.split(text_of(found).replace("\\\n", ""))
    written = values(words[words.index("--async") + 1 :])
    expanded = values(found.argv())
    for argument in model_args:
        expanded.pop(argument.flag)
    del written["--actor-num-gpus-per-node"][1:]  # where ${MODEL_ARGS[@]} stands
    written.pop("--num-gpus-per-node", None), expanded.pop("--num-gpus-per-node", None)
    assert written == expanded


# What a shell would take apart: quotes, dollars, backslashes, line ends, globs, comments.
AWKWARD = st.text(alphabet="ab '\"$`\\\n\t*?#!&;|(){}[]<>~=äé漢", min_size=1, max_size=12).filter(
    lambda value: "$(" not in value and not value.startswith("-")
)


@given(argument=AWKWARD, listed=st.lists(AWKWARD, min_size=1, max_size=3), environment=AWKWARD)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_awkward_values_survive_the_shell(argument: str, listed: list[str], environment: str) -> None:
    changes = {"arguments": {"some-text": argument, "some_list": tuple(listed)}, "env": {"AWKWARD": environment}}
    found = made(changed(published(), changes))
    # The published placeholder is no command; what a launch starts stands in its place.
    lines = text_of(found).replace("python3 -m <slime entry module> --async", "show", 1)
    script = f'show() {{ printf \'%s\\0\' "$AWKWARD" "$@"; }}\n{lines}'
    names = {"NVLINK_COUNT": "0", "HF_CKPT": "$HF_CKPT", "TORCH_DIST": "$TORCH_DIST", "SFT_DATA": "$SFT_DATA"}
    shell = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **names}
    done = subprocess.run(["bash", "-euc", f"MODEL_ARGS=()\n{script}"], capture_output=True, env=shell, check=True)
    seen = done.stdout.decode().split("\0")[:-1]
    without_model = replace(found, lines=tuple(line for line in found.lines if line.stands_for is None))
    assert seen == [environment, *without_model.argv()[1:]]


def test_the_smoke_recipe_starts_torchrun_with_a_rank_for_each_gpu() -> None:
    found = made(smoke())
    assert found.launcher == ("torchrun", "--standalone", "--nproc-per-node", "2")
    assert found.argv()[0] == "smoke_sft.py"
    assert values(found.argv())["--device"] == ["cpu"]
    assert values(found.argv())["--seq-length"] == ["256"]


def test_a_recipe_without_environment_starts_with_its_entry() -> None:
    assert text(changed(smoke(), {"env": {}})).startswith("torchrun --standalone")


GOLDEN = {
    "everything": {
        "gpu.per_node": 4,
        "gpu.count": 64,
        "layout.vpp": 2,
        "layout.cp": 2,
        "layout.dp": 4,
        "layout.ep": 16,
        "layout.layer_split": (14, 16, 16, 14),
        "layout.rows_per_microbatch": 2,
        "layout.recompute": {"granularity": "selective", "method": None, "num_layers": None, "modules": ("moe_act",)},
        "layout.offload": "optimizer",
        "layout.dispatcher": "flex",
        "workload.precision": "fp8",
        "arguments": {"lr": 2e-5, "weight-decay": None, "clip_grad": 0.5, "train_env_vars": '{"A": "it\'s $B"}'},
        "env.WITH_SPACE": "a b",
    },
    "dp32-no-recompute": {"layout.pp": 2, "layout.dp": 32, "layout.recompute": None, "layout.sequence_parallel": False},
}


@pytest.mark.parametrize("name", GOLDEN)
def test_texts_beyond_the_published_ones_stay_as_they_were_reviewed(
    name: str, golden: Callable[[str, str], None]
) -> None:
    golden(f"render/{name}.txt", text(changed(published(), GOLDEN[name])))
