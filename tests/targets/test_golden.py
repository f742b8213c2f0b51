"""Golden files: what is launched for every recipe on every kind of place, byte for byte.

One launch is kept whole, and the script that each other target submits; of all others, only what differs.
"""

import subprocess
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest
from script_differences import differences
from varied_recipes import RECIPES

from openrecipes.recipe.read import read_recipe
from openrecipes.shipped import shipped
from openrecipes.targets.profile import Profile
from openrecipes.targets.read_profile import read_profile
from openrecipes.targets.rendering import Prepared, prepared, target_of

BASES = {
    "slurm": ("qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32", "slurm-p5en"),
    "ssh": ("qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32", "ssh-p5en"),
    "local": ("qwen3.5-moe-small/h200/openrecipes-tp2-ep2", "one-node"),
}
# The Slurm cluster of each GPU, and the hosts of it; of these only those of the H200 are shipped.
CLUSTERS = {"h100": "slurm-p5", "h200": "slurm-p5en", "b200": "slurm-p6-b200", "cpu": "slurm-bare"}
HOSTS = {"h100": "ssh-p5", "h200": "ssh-p5en", "b200": "ssh-p6-b200"}
NAMES = sorted(path.relative_to(RECIPES).with_suffix("").as_posix() for path in RECIPES.rglob("*.yaml"))
LARGE = [name for name in NAMES if name.startswith("qwen3.5-397b-a17b/")]
SMALL = [name for name in NAMES if read_recipe(RECIPES / f"{name}.yaml").recipe.gpu.count <= 8]
CASES = [
    *((name, CLUSTERS[name.split("/")[1]]) for name in NAMES),
    (BASES["slurm"][0], "slurm-bare"),
    ("qwen3.5-397b-a17b/h100/openrecipes-tp2-pp4-ep32", "slurm-infiniband-apptainer"),
    *((name, HOSTS[name.split("/")[1]]) for name in LARGE),
    *((name, "one-node") for name in SMALL),
]
CASES = [case for case in CASES if case not in BASES.values()]
# No recipe of one node is for another GPU yet, so one is told to be.
CASES += [(f"qwen3-30b-a3b/h200/openrecipes-tp1-pp4-ep1@gpu.type={gpu}", "one-node") for gpu in ("H100", "B200")]


def place(cluster: str) -> Profile:
    """The shipped profile; hosts of a GPU that has none are those of the H200 with its Slurm cluster's network."""
    if cluster not in HOSTS.values() or cluster == HOSTS["h200"]:
        return read_profile(shipped("launch", "clusters", f"{cluster}.yaml"))
    hosts, like = place(HOSTS["h200"]), place(cluster.replace("ssh-", "slurm-"))
    assert hosts.fabric is not None
    assert like.fabric is not None
    fabric = like.fabric.model_copy(update={"device_files": hosts.fabric.device_files})
    return hosts.model_copy(update={"name": cluster, "gpu": like.gpu, "fabric": fabric})


@lru_cache(maxsize=64)
def launch(name: str, cluster: str) -> Prepared:
    """`name` may have a setting behind an @."""
    profile = place(cluster)
    stem, _, setting = name.partition("@")
    located = read_recipe(RECIPES / f"{stem}.yaml")
    return prepared(located, target_of(None, profile), settings=[setting] if setting else [], profile=profile)


def scripts(name: str, cluster: str) -> dict[str, str]:
    return {file.path: file.text for file in launch(name, cluster).rendered.files if file.path.endswith(".sh")}


def test_every_recipe_gpu_and_target_is_here() -> None:
    every = [*CASES, *BASES.values()]
    assert len(NAMES) >= 13
    assert {launch(*case).target.name for case in every} == {"local", "ssh", "slurm"}
    assert {launch(*case).launch.recipe.gpu.type for case in every} == {"H100", "H200", "B200", "CPU"}


def test_one_launch_whole(golden: Callable[[str, str], None]) -> None:
    for path, text in scripts(*BASES["local"]).items():
        golden(f"launch/local/{path}", text)


@pytest.mark.parametrize("target", ["slurm", "ssh"])
def test_one_launch_of_every_other_target(target: str, golden: Callable[[str, str], None]) -> None:
    """The script that is submitted, whole; of the node's, which all targets share, what differs from the one above."""
    local, found = scripts(*BASES["local"]), scripts(*BASES[target])
    for path, text in found.items():
        if path == "node.sh":
            golden(f"launch/{target}/node.diff", differences({path: local[path]}, {path: text}))
        else:
            golden(f"launch/{target}/{path}", text)


@pytest.mark.parametrize(("name", "cluster"), CASES)
def test_what_differs_in_every_other(name: str, cluster: str, golden: Callable[[str, str], None]) -> None:
    found = scripts(name, cluster)
    target = launch(name, cluster).target.name
    base = scripts(*BASES[target])
    golden(f"launch/{target}/{name.replace('/', '-')}-{cluster}.diff", differences(base, found))


@pytest.mark.parametrize(("name", "cluster"), [*CASES, *BASES.values()])
def test_bash_reads_every_script_and_the_commands_arguments_back(name: str, cluster: str) -> None:
    for text in scripts(name, cluster).values():
        done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    command = launch(name, cluster).launch.command
    node = scripts(name, cluster)["node.sh"]
    start = node.index("\narguments=(\n")
    words = node[start : node.index("\n)\n", start) + 3]
    values = {"HF_CKPT": "a 'b' $c", "TORCH_DIST": "/x*", "SFT_DATA": "/rows"}
    script = words + 'printf "%s\\0" "${arguments[@]}"'
    read = subprocess.run(["bash", "-uc", script], capture_output=True, text=True, check=True, env=values)
    expected = [values.get(word.removeprefix("$"), word) for word in command.argv()[1:]]
    assert read.stdout.split("\0")[:-1] == expected
    assert f" {command.entry} " in node or f'"$here/"{command.entry} ' in node


@pytest.mark.slow
@pytest.mark.tool("shellcheck")
def test_shellcheck_finds_nothing_in_any_script(tmp_path: Path) -> None:
    texts = {text for case in (*CASES, *BASES.values()) for text in scripts(*case).values()}
    assert len(texts) > 30
    for number, text in enumerate(sorted(texts)):
        (tmp_path / f"{number}.sh").write_text(text)
    files = sorted(str(path) for path in tmp_path.iterdir())
    done = subprocess.run(["shellcheck", "-s", "bash", *files], capture_output=True, text=True, check=False)
    assert done.stdout == ""
