"""A checkpoint's preparation as files: pure, right for every target, and what its script does here."""

import json
import subprocess
from pathlib import Path

import converter_stand_in
import pytest
from varied_recipes import RECIPES

from openrecipes.catalog.arguments import argument_catalogue, stack_ids
from openrecipes.catalog.models import model
from openrecipes.problems import ProblemsError, UsageError
from openrecipes.recipe.read import read_recipe
from openrecipes.shipped import shipped
from openrecipes.targets.checkpoint import MANIFEST, checkpoint_problems
from openrecipes.targets.preparation import Preparation, preparation
from openrecipes.targets.profile import Paths, Profile
from openrecipes.targets.read_profile import read_profile
from openrecipes.targets.submit import write_rendered

SMALL = "qwen3.5-moe-small/h200/openrecipes-tp2-ep2"
LARGE = "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"
WEIGHT_BYTES = 2 * 748_976_096


def prepared(
    profile: Profile | str, name: str = SMALL, *, kind="random", nodes: int | None = None, gpus: int | None = None
) -> Preparation:
    site = read_profile(shipped("launch", "clusters", f"{profile}.yaml")) if isinstance(profile, str) else profile
    located = read_recipe(RECIPES / f"{name}.yaml")
    return preparation(located, site, kind=kind, nodes_wanted=nodes, gpus_wanted=gpus)


def here(folder: Path, **env: str) -> Profile:
    python = converter_stand_in.install(folder)
    paths = {"slime": "slime", "megatron": "megatron", "hf_checkpoint": "hf $x", "torch_dist": "dist/"}
    return Profile(
        schema_version=1,
        name="stage",
        target="local",
        python=str(python),
        paths=Paths(**{name: f"{folder}/{path}" for name, path in paths.items()}),
        env={"WEIGHT_BYTES": str(WEIGHT_BYTES), **env},
    )


def ran(made: Preparation, folder: Path) -> "subprocess.CompletedProcess[str]":
    write_rendered(made.ready.rendered, folder / "files")
    words = ["bash", str(folder / "files" / made.ready.rendered.entry), str(folder / "run")]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_equal_preparations_are_equal_bytes_and_others_are_not() -> None:
    first, second = (prepared("slurm-p5en", LARGE).ready.rendered for _ in range(2))
    assert first == second
    assert prepared("slurm-p5en", LARGE, nodes=2).ready.rendered.render_sha256 != first.render_sha256


def test_the_script_makes_a_checkpoint_and_tells_how_far_it_is(tmp_path: Path) -> None:
    made = prepared(here(tmp_path, ODD="a 'b' $c"))
    done = ran(made, tmp_path)
    log = (tmp_path / "run" / "log" / "train.log").read_text()
    assert done.returncode == 0, log
    assert list(checkpoint_problems(model("Qwen3.5-MoE-small"), tmp_path / "dist")) == []
    assert json.loads((tmp_path / "dist" / MANIFEST).read_text())["weights"] == "random"
    seen = json.loads((tmp_path / "seen-0.json").read_text())
    argv = seen["argv"]
    assert argv[argv.index("--nproc-per-node") + 2] == str(tmp_path / "files" / "random_checkpoint.py")
    assert argv[argv.index("--num-experts") + 1] == "32"
    assert argv[argv.index("--hf-checkpoint") + 1] == str(tmp_path / "hf $x")
    assert argv[argv.index("--save") + 1] == str(tmp_path / "dist.partial")
    assert argv[-4:] == ["--hf-checkpoint", str(tmp_path / "hf $x"), "--save", str(tmp_path / "dist.partial")]
    assert (seen["cwd"], seen["env"]["ODD"]) == (str(tmp_path / "slime"), "a 'b' $c")
    names = {file.name for file in (tmp_path / "hf $x").iterdir()}
    assert names == {"config.json", "tokenizer.json", "tokenizer_config.json"}
    said = [line for line in log.splitlines() if line.startswith("openrecipes: progress ")]
    assert said[0].startswith("openrecipes: progress writes about 1.4 GiB into ")
    assert said[-1] == f"openrecipes: progress {tmp_path}/dist is whole, 1.4 GiB"
    job = json.loads((tmp_path / "run" / "job.json").read_text())
    assert (job["exit_status"], job["cause"]) == (0, None)


@pytest.mark.parametrize(("play", "status"), [("die", 9), ("hollow", 1)])
def test_a_failed_converter_leaves_nothing_under_the_name(tmp_path: Path, play: str, status: int) -> None:
    assert ran(prepared(here(tmp_path, PLAY=play)), tmp_path).returncode == status
    assert not (tmp_path / "dist").exists()
    assert (tmp_path / "dist.partial" / ".openrecipes-preparation.json").exists()


def test_the_model_is_laid_over_as_few_whole_nodes_as_hold_it() -> None:
    made = prepared("slurm-p5en", LARGE, kind="converted")
    assert (made.conversion.nodes, made.conversion.gpus_per_node) == (1, 8)
    text = next(file.text for file in made.ready.rendered.files if file.path == "launch.sh")
    assert "#SBATCH --nodes=1\n" in text
    assert "#SBATCH --job-name=qwen3.5-397b-a17b-checkpoint\n" in text
    assert "--container-image=" in text
    wanted = prepared("ssh-p5en", LARGE, nodes=4)
    argv = wanted.ready.launch.command.argv()
    assert argv[argv.index("--expert-model-parallel-size") + 1] == "4"
    node = next(file.text for file in wanted.ready.rendered.files if file.path == "node.sh")
    assert "--nnodes 4 --node-rank 0" in node


def test_on_this_machine_it_takes_the_fewest_gpus(tmp_path: Path) -> None:
    made = prepared(here(tmp_path), "qwen3-235b-a22b/h200/openrecipes-tp4-pp2-ep8")
    assert (made.conversion.nodes, made.conversion.gpus_per_node) == (1, 4)


def test_every_flag_is_one_that_slimes_converter_knows() -> None:
    (stack,) = stack_ids()
    parser = argument_catalogue(stack).parser
    for path in sorted(RECIPES.rglob("*.yaml")):
        located = read_recipe(path)
        if located.recipe.trainer == "slime":
            site = read_profile(shipped("launch", "clusters", "slurm-bare.yaml"))
            made = preparation(located, site, kind="converted", nodes_wanted=None, gpus_wanted=None)
            unknown = [a.flag for a in made.ready.launch.command.arguments if parser.find(a.flag) is None]
            assert unknown == []


def test_every_missing_path_is_named_at_once() -> None:
    with pytest.raises(ProblemsError) as told:
        prepared(Profile(schema_version=1, name="x", target="local"))
    keys = {"paths.slime", "paths.megatron", "paths.hf_checkpoint", "paths.torch_dist"}
    assert {problem.place.key for problem in told.value.problems} == keys


@pytest.mark.parametrize(
    ("paths", "key"),
    [
        ({"torch_dist": "dist"}, "paths.torch_dist"),
        ({"hf_checkpoint": "~/hf"}, "paths.hf_checkpoint"),
        ({"torch_dist": "/x/hf/", "hf_checkpoint": "/x/hf"}, "paths.torch_dist"),
    ],
)
def test_a_path_that_means_another_place_is_refused(tmp_path: Path, paths: dict[str, str], key: str) -> None:
    site = here(tmp_path)
    with pytest.raises(ProblemsError) as told:
        prepared(site.model_copy(update={"paths": site.paths.model_copy(update=paths)}))
    assert [(p.place.key, p.rule) for p in told.value.problems] == [(key, "target-paths")]


def test_a_model_that_the_gpus_do_not_hold_is_refused_with_how_many_would(tmp_path: Path) -> None:
    with pytest.raises(ProblemsError) as told:
        prepared(here(tmp_path), LARGE, gpus=4)
    (problem,) = told.value.problems
    assert problem.rule == "conversion-memory"
    assert problem.what.startswith("the weights of Qwen3.5-397B-A17B are 738.3 GiB, and 4 x H200 of 140.4 GiB do not ")
    assert problem.mend.startswith("convert on 1 node of 8 GPUs")


def test_the_profiles_gpus_count_and_any_kind_converts() -> None:
    made = prepared("slurm-p5", LARGE, kind="converted")
    assert made.ready.launch.recipe.gpu.type == "H100"
    assert (made.conversion.nodes, made.conversion.pp, made.conversion.ep) == (2, 8, 2)


def test_a_recipe_that_reads_no_checkpoint_and_a_path_of_another_model_are_told(tmp_path: Path) -> None:
    site = here(tmp_path)
    paths = site.paths.model_copy(update={"torch_dist": "/x/Qwen3-32B_torch_dist"})
    made = prepared(site.model_copy(update={"paths": paths}), "qwen3.5-moe-mini/cpu/smoke-dp2")
    rules = [(problem.rule, problem.severity) for problem in made.ready.warnings]
    assert sorted(rules) == [("checkpoint-needed", "warning"), ("target-checkpoint", "warning")]


def test_gpus_that_the_layers_cannot_be_laid_over_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemsError) as told:
        prepared("slurm-bare", nodes=3, gpus=3)
    assert [problem.rule for problem in told.value.problems] == ["conversion-gpus"]
    with pytest.raises(UsageError):
        prepared(here(tmp_path), nodes=2)


@pytest.mark.tool("shellcheck")
@pytest.mark.parametrize(
    ("site", "kind"),
    [
        ("slurm-p5en", "random"),
        ("slurm-bare", "converted"),
        ("slurm-infiniband-apptainer", "random"),
        ("ssh-p5en", "converted"),
        ("one-node", "random"),
    ],
)
def test_shellcheck_finds_nothing(tmp_path: Path, site: str, kind) -> None:
    is_small = site == "one-node"
    made = prepared(site, SMALL if is_small else LARGE, kind=kind, nodes=None if is_small else 2)
    write_rendered(made.ready.rendered, tmp_path / "files")
    scripts = sorted(str(path) for path in (tmp_path / "files").glob("*.sh"))
    assert len(scripts) >= 2
    subprocess.run(["shellcheck", *scripts], check=True)
