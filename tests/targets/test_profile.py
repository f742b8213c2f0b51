"""Cluster profiles: the shipped ones are sound, and each mistake is told at its place."""

import json
from pathlib import Path

import pytest
import yaml
from called import openrecipes
from jsonschema import Draft202012Validator

from openrecipes.problems import ProblemsError, UsageError
from openrecipes.recipe.read import read_recipe
from openrecipes.shipped import shipped
from openrecipes.targets.profile_schema import profile_text
from openrecipes.targets.read_profile import placed_in_profile, read_profile
from openrecipes.targets.rendering import prepared, target_of

SHIPPED = sorted(Path(str(shipped("launch", "clusters"))).glob("*.yaml"))
PUBLISHED = ("recipes", "qwen3.5-397b-a17b", "h200", "attune-tp2-pp4-ep32.yaml")
DIGEST = "0" * 64
GOOD = {
    "slurm": {"schema_version": 1, "name": "x", "target": "slurm", "slurm": {"partition": "gpu"}},
    "ssh": {"schema_version": 1, "name": "x", "target": "ssh", "ssh": {"hosts": ["n1", "n2"]}},
}
# What is changed in a good profile; key and rule of the one problem that it makes.
MISTAKES = [
    ("slurm", {"pyhton": "/x"}, "pyhton", "schema-unknown-key"),
    ("slurm", {"target": "slrm"}, "target", "schema-choice"),
    ("slurm", {"target": None}, "target", "schema-choice"),
    ("slurm", {"schema_version": 2}, "schema_version", "schema-choice"),
    ("slurm", {"name": None}, "name", "profile-name"),
    ("slurm", {"ssh": {"hosts": ["n1"]}}, "ssh", "profile-target"),
    ("slurm", {"slurm": {"partition": "gpu; id"}}, "slurm.partition", "schema-pattern"),
    ("slurm", {"slurm": {"partition": "gpu\n#SBATCH --uid=0"}}, "slurm.partition", "schema-pattern"),
    ("slurm", {"slurm": {"options": ["--nodes=4"]}}, "slurm.options[0]", "profile-option"),
    ("slurm", {"gpu": {"type": "h200"}}, "gpu.type", "gpu-known"),
    ("slurm", {"gpu": {"type": "H200", "per_node": 0}}, "gpu.per_node", "schema-range"),
    ("slurm", {"gpu": {"type": "H200"}, "slurm": {"gpu_type": "b200"}}, "slurm.gpu_type", "profile-gpu"),
    ("slurm", {"slurm": {"options": ["--clusters=b"]}}, "slurm.options[0]", "profile-option"),
    ("slurm", {"slurm": {"options": ["-N4"]}}, "slurm.options[0]", "schema-pattern"),
    ("slurm", {"slurm": {"exclusive": False}}, "slurm.cpus_per_node", "profile-cpus"),
    (
        "slurm",
        {"container": {"runtime": "docker", "image": f"a@sha256:{DIGEST}"}},
        "container.runtime",
        "profile-container",
    ),
    ("slurm", {"container": {"runtime": "pyxis", "image": "a:latest"}}, "container.image", "profile-digest"),
    ("slurm", {"container": {"runtime": "pyxis", "image": "/a.sqsh"}}, "container.image_sha256", "profile-digest"),
    (
        "slurm",
        {"container": {"runtime": "pyxis", "image": f"a@sha256:{DIGEST}", "mounts": [{"source": "/a,b"}]}},
        "container.mounts[0]",
        "profile-mount",
    ),
    ("slurm", {"secrets": {"T": {}}}, "secrets.T", "profile-secret"),
    ("slurm", {"secrets": {"T": {"variable": "A", "file": "/a"}}}, "secrets.T", "profile-secret"),
    ("slurm", {"secrets": {"T": {"variable": "T"}}, "env": {"T": "plain"}}, "secrets.T", "profile-secret"),
    ("slurm", {"secrets": {"T": {"variable": "T"}}, "keep_environment": ["T"]}, "secrets.T", "profile-secret"),
    ("slurm", {"env": {"A B": "x"}}, "env.A B", "schema-pattern"),
    ("slurm", {"arguments": {"lr": {"a": 1}}}, "arguments.lr", "schema-kind"),
    ("slurm", {"keep_environment": ["A B"]}, "keep_environment[0]", "schema-pattern"),
    ("slurm", {"time_limit_seconds": 0}, "time_limit_seconds", "schema-range"),
    ("slurm", {"hang": {"medians": 0}}, "hang.medians", "schema-range"),
    ("slurm", {"ray": {"port": 80}}, "ray.port", "schema-range"),
    ("slurm", {"ray": {"worker_ports": [20000, 10000]}}, "ray.worker_ports", "profile-ports"),
    ("slurm", {"ray": {"folder": "/a b"}}, "ray.folder", "schema-pattern"),
    ("ssh", {"ssh": None}, "ssh", "target-site"),
    ("ssh", {"ssh": {"hosts": ["-oProxyCommand=id"]}}, "ssh.hosts[0]", "schema-pattern"),
    ("ssh", {"ssh": {"hosts": []}}, "ssh.hosts", "profile-hosts"),
    ("ssh", {"ssh": {"hosts": ["n1", "n1"]}}, "ssh.hosts[1]", "profile-hosts"),
    ("ssh", {"ssh": {"hosts": ["n1", "root@n1"]}}, "ssh.hosts[1]", "profile-hosts"),
    ("ssh", {"ssh": {"hosts": ["n1"], "folder": "/a;b"}}, "ssh.folder", "schema-pattern"),
]


def written(folder: Path, document: object) -> Path:
    path = folder / "cluster.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_profile_is_sound_fits_the_schema_and_reads_back(path: Path, tmp_path: Path) -> None:
    profile = read_profile(path)
    assert profile.name == path.stem
    schema = yaml.safe_load(shipped("schema", "cluster.schema.yaml").read_text())
    document = yaml.safe_load(path.read_text())
    Draft202012Validator(schema).validate(json.loads(json.dumps(document)))
    again = tmp_path / "again.yaml"
    again.write_text(profile_text(profile))
    assert read_profile(again) == profile


def test_there_is_one_for_each_kind_of_place_and_each_instance() -> None:
    names = {path.stem for path in SHIPPED}
    assert {f"{kind}-{instance}" for kind in ("slurm", "eks") for instance in ("p5", "p5en", "p6-b200")} < names
    assert {"slurm-bare", "slurm-infiniband-apptainer", "ssh-p5en", "one-node"} < names


@pytest.mark.parametrize("kind", GOOD)
def test_the_good_ones_have_no_mistake(tmp_path: Path, kind: str) -> None:
    assert read_profile(written(tmp_path, GOOD[kind])).target == kind


@pytest.mark.parametrize(("kind", "change", "key", "rule"), MISTAKES)
def test_each_mistake_is_told_at_its_key(
    tmp_path: Path, kind: str, change: dict[str, object], key: str, rule: str
) -> None:
    path = written(tmp_path, {**GOOD[kind], **change})
    with pytest.raises(ProblemsError) as caught:
        read_profile(path)
    assert [(problem.place.key, problem.rule) for problem in caught.value.problems] == [(key, rule)]
    (problem,) = caught.value.problems
    assert problem.place.file == str(path)
    assert problem.place.line is not None
    assert "schema/recipe" not in problem.mend


@pytest.mark.parametrize(
    "text", ["", "- a\n", "a", "a: [", "\tx: 1\n", "a: 1\na: 2\n", "target: !!python/name:os.system\n"]
)
def test_what_is_no_profile_at_all_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    with pytest.raises(ProblemsError):
        read_profile(path)


@pytest.mark.parametrize(("key", "meant"), [("time_limit", "time_limit_seconds"), ("join", "join_seconds")])
def test_a_key_without_its_unit_is_told_with_it(tmp_path: Path, key: str, meant: str) -> None:
    with pytest.raises(ProblemsError) as caught:
        read_profile(written(tmp_path, {**GOOD["slurm"], key: "2h"}))
    assert [problem.mend for problem in caught.value.problems] == [f"write {meant}, or remove the line"]


def test_a_beginning_of_several_keys_is_no_guess(tmp_path: Path) -> None:
    with pytest.raises(ProblemsError, match="remove it; known here: "):
        read_profile(written(tmp_path, {**GOOD["slurm"], "time_limit": 2, "pre": 1}))


def test_a_recipe_and_a_profile_in_each_others_place_are_one_problem(tmp_path: Path) -> None:
    recipe, profile = shipped("recipes", "qwen3.5-moe-mini", "cpu", "smoke-dp2.yaml"), str(SHIPPED[0])
    done = openrecipes("launch", str(recipe), "--cluster", str(recipe), "--dry-run", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("mend:") == 1
    assert f"{recipe}: this is a recipe, and a cluster profile is wanted" in done.stderr
    done = openrecipes("show", profile, folder=tmp_path)
    assert (done.returncode, done.stderr.count("mend:")) == (1, 1)
    assert f"{profile}: this is a cluster profile, and a recipe is wanted" in done.stderr


def test_a_file_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        read_profile(tmp_path / "none.yaml")


def test_what_a_launch_finds_wrong_with_a_profile_has_its_line(tmp_path: Path) -> None:
    document = {**GOOD["ssh"], "paths": {"slime": "my slime", "megatron": "/m", "hf_checkpoint": "/h"}}
    path = written(tmp_path, document)
    profile = read_profile(path)
    with pytest.raises(ProblemsError) as caught, placed_in_profile(path, profile):
        prepared(read_recipe(shipped(*PUBLISHED)), target_of(None, profile), profile=profile)
    problems = [p for p in caught.value.problems if p.severity == "error"]
    assert sorted((p.place.line, p.place.key, p.rule) for p in problems) == [
        (5, "ssh.hosts", "target-nodes"),
        (8, "paths.torch_dist", "target-paths"),
        (9, "paths.slime", "target-paths"),
    ]
    assert {p.place.file for p in problems} == {str(path)}
    assert any(p.what == "2 hosts, and 128 x H200, 8 per node, need 16" for p in problems)


def test_check_looks_at_profiles_and_recipes_alike(tmp_path: Path) -> None:
    bad = written(tmp_path, {**GOOD["ssh"], "ssh": {"hosts": ["n1", "n1"]}})
    paths = [str(bad), *(str(path) for path in SHIPPED), str(shipped(*PUBLISHED))]
    done = openrecipes("check", "--json", *paths)
    document = json.loads(done.stdout)
    errors = [problem for problem in document["problems"] if problem["severity"] == "error"]
    assert (done.returncode, document["files"]) == (1, len(paths))
    assert [(problem["file"], problem["rule"]) for problem in errors] == [(str(bad), "profile-hosts")]
