"""The converter's own parser, with Megatron's checks behind it, takes the arguments of every conversion."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from varied_recipes import RECIPES

from openrecipes.recipe.read import read_recipe
from openrecipes.shipped import shipped
from openrecipes.targets.preparation import preparation
from openrecipes.targets.read_profile import read_profile

CASES = [
    ("qwen3.5-397b-a17b/h100/openrecipes-tp2-pp4-ep32", "slurm-p5", 2),
    ("qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32", "ssh-p5en", 4),
    ("qwen3-32b/h200/openrecipes-tp2-pp4", "slurm-p5en", 3),
]
# Reads arguments as lists from standard input; nothing but the parser is wanted, so its bridge to weights is not.
PARSE = """
import importlib.util, json, os, sys, types

for name in ("mbridge", "slime_plugins.mbridge"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["mbridge"].AutoBridge = object
os.environ["WORLD_SIZE"], os.environ["RANK"] = sys.argv[2], "0"
spec = importlib.util.spec_from_file_location("converter", os.path.join(sys.argv[1], "tools", sys.argv[3]))
converter = importlib.util.module_from_spec(spec)
spec.loader.exec_module(converter)
sys.argv = ["converter", *json.load(sys.stdin)]
found = converter.get_args()
names = ("pipeline_model_parallel_size", "expert_model_parallel_size", "data_parallel_size", "bf16")
print("FOUND", json.dumps({name: getattr(found, name) for name in names}))
"""


@pytest.mark.slow
@pytest.mark.checkout("SLIME_DIR", "MEGATRON_DIR")
@pytest.mark.parametrize(("name", "site", "nodes"), CASES)
def test_slimes_converter_takes_the_arguments(tmp_path: Path, name: str, site: str, nodes: int) -> None:
    slime, megatron = os.environ["SLIME_DIR"], os.environ["MEGATRON_DIR"]
    profile = read_profile(shipped("launch", "clusters", f"{site}.yaml"))
    made = preparation(
        read_recipe(RECIPES / f"{name}.yaml"), profile, kind="converted", nodes_wanted=nodes, gpus_wanted=None
    )
    conversion = made.conversion
    done = subprocess.run(
        [
            os.environ.get("SLIME_PYTHON", sys.executable),
            "-c",
            PARSE,
            slime,
            str(conversion.gpus),
            Path(made.ready.launch.command.entry).name,
        ],
        input=json.dumps(made.ready.launch.command.argv()[1:]),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((megatron, slime))},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    assert json.loads(line.removeprefix("FOUND ")) == {
        "pipeline_model_parallel_size": conversion.pp,
        "expert_model_parallel_size": conversion.ep,
        "data_parallel_size": conversion.gpus // conversion.pp,
        "bf16": True,
    }
