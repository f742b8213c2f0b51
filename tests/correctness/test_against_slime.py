"""What we derive for a recipe is what slime's own parser and checks make of its command, attribute by attribute."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from varied_recipes import changed, published

from openrecipes.catalog.arguments import argument_catalogue, stack_ids
from openrecipes.catalog.models import hf_config, model
from openrecipes.correctness.argument_classes import argument_classes
from openrecipes.correctness.effective_arguments import Effective, of_dump, of_recipe
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import read_recipe
from openrecipes.render.command import command

ROOT = Path(__file__).resolve().parents[2]
DRIVER = ROOT / "tests/render/slime_parser_driver.py"
CATALOGUE = argument_catalogue(stack_ids()[0])
VARIED: dict[str, dict[str, Any]] = {
    "vpp": {"layout.vpp": 3},
    "uneven": {"layout.layer_split": (14, 16, 16, 14)},
    "cp": {"layout.cp": 2, "layout.dp": 8, "layout.max_tokens_per_gpu": 4096},
    "etp": {"layout.etp": 2, "layout.ep": 16},
    "no recompute": {"layout.recompute": None},
    "flex": {"layout.dispatcher": "flex"},
    "fp16": {"workload.precision": "fp16"},
    "BF16 gradients": {"arguments": {"grad_reduce_in_bf16": True, "accumulate_allreduce_grads_in_fp32": False}},
    "ppo": {"arguments": {"balance_by_flops": True, "lr_warmup_fraction": None, "lr_warmup_iters": 3}},
    "weights": {"arguments": {"ref_ckpt_step": 7, "padded_vocab_size": 248832}},
}


def ask(recipes: dict[str, Recipe], folder: Path) -> list[dict[str, Any]]:
    cases = []
    for name, recipe in recipes.items():
        checkpoint = folder / name.replace(" ", "-")
        checkpoint.mkdir()
        found = model(recipe.model)
        (checkpoint / "config.json").write_text(json.dumps(hf_config(found)))
        made = command(recipe, found)
        argv = [str(checkpoint) if word == "$HF_CKPT" else word for word in made.argv()]
        cases.append({"argv": argv, "env": {v.name: v.value for v in made.environment if v.kind == "literal"}})
    python = os.environ.get("SLIME_PYTHON", sys.executable)
    done = subprocess.run([python, str(DRIVER)], input=json.dumps(cases), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def differences(ours: Effective, theirs: Effective) -> dict[str, tuple[str | None, str | None]]:
    """Attributes of other value, whose difference a comparison would take for more than neutral; paths aside."""
    table = argument_classes()
    flags: dict[str, str] = {}
    for argument in CATALOGUE.arguments:
        flags.setdefault(argument.dest, argument.flags[0])
    found = {}
    for name in ours.settings.keys() & theirs.settings.keys():
        listing = table.of_flag(flags[name]) if name in flags else table.of_attribute(name)
        if listing and listing.listed != "neutral" and not listing.place and ours.value(name) != theirs.value(name):
            found[name] = (ours.value(name), theirs.value(name))
    return found


@pytest.mark.slow
@pytest.mark.checkout("SLIME_DIR", "MEGATRON_DIR")
def test_a_recipes_effective_arguments_are_slimes(tmp_path: Path) -> None:
    one_a_model = {path.parents[1].name: path for path in sorted((ROOT / "recipes").glob("*/h200/*.yaml"))}
    recipes = {name: read_recipe(path).recipe for name, path in one_a_model.items()}
    recipes |= {name: changed(published(), changes) for name, changes in VARIED.items()}
    wrong: dict[str, Any] = {}
    compared = 0
    for (name, recipe), answer in zip(recipes.items(), ask(recipes, tmp_path), strict=True):
        if answer["error"]:
            wrong[name] = answer["error"]
            continue
        dump = {key: str(value) for key, value in answer["resolved"].items()}
        ours = of_recipe(recipe, model(recipe.model), CATALOGUE, source=name)
        theirs = of_dump(dump, source=name)
        compared += len(ours.settings.keys() & theirs.settings.keys())
        if found := differences(ours, theirs):
            wrong[name] = found
    assert wrong == {}
    assert len(one_a_model) >= 6
    assert compared > 800 * len(recipes)
