"""The preflight is asked what the recipe, the profile and the catalogue say, and its answer becomes problems."""

import itertools

import pytest
from smoke_recipe import smoke_recipe

from openrecipes.problems import OutsideError
from openrecipes.recipe.read import read_recipe
from openrecipes.shipped import shipped
from openrecipes.targets.fabric import Fabric
from openrecipes.targets.preflight import preflight_files, preflight_here, verdict
from openrecipes.targets.preflight_words import between_words, preflight_words
from openrecipes.targets.profile import THIS_MACHINE, Paths, Profile

PUBLISHED = read_recipe(shipped("recipes", "qwen3.5-397b-a17b", "h200", "attune-tp2-pp4-ep32.yaml")).recipe


def test_a_published_recipe_asks_for_its_hardware_its_stack_and_its_rows() -> None:
    profile = Profile(
        schema_version=1,
        name="p5en",
        target="slurm",
        fabric=Fabric(kind="efa", devices_per_node=16),
        paths=Paths(
            torch_dist="/ckpt",
            sft_data="/data/rows.parquet",
            hf_checkpoint="/hf",
            slime="/slime",
            megatron="/megatron",
            runs="/runs",
        ),
    )
    words = preflight_words(profile, PUBLISHED)
    pairs = {f"{a} {b}" for a, b in itertools.pairwise(words)}
    assert {
        "--fabric efa",
        "--devices 16",
        "--gpus 8",
        "--gpu H200",
        "--memory-mib 143771",
        "--nvlinks 18",
        "--pin torch=2.11.0",
        "--pin transformer-engine=2.10.0",
        "--pin deep-ep=1.2.1",
        "--pin nccl=2.28.9",
        "--pin cuda=12.9",
        "--pin python=3.12",
        "--commit /slime=a897e1f",
        "--commit /megatron=1dcf0daf",
        "--driver-at-least 525.60.13",
        "--cpus 10",
        "--port-range 20000-21000",
        "--disk /tmp=50",
        "--disk /runs=10",
        "--tokenizer /hf=5f9e4d4901a92b997e463c1f46055088b6cca5ca61a6522d1b9f64c4bb81cb42",
        "--node-bus-gb 300",
        # Rows that one builds oneself are other bytes, and the published hash of the rows is of another form.
        "--file /data/rows.parquet",
        "--rows /data/rows.parquet",
    } <= pairs
    ours = PUBLISHED.workload.dataset.model_copy(update={"rows_sha256": "a" * 64})
    workload = PUBLISHED.workload.model_copy(update={"dataset": ours})
    words_of_ours = preflight_words(profile, PUBLISHED.model_copy(update={"workload": workload}))
    assert f"/data/rows.parquet={'a' * 64}" in words_of_ours
    assert words[words.index("--checkpoint") + 1].startswith("/ckpt=")
    assert "--load" in words
    between = between_words(profile, PUBLISHED)
    # A rank's 8,192 tokens over TP 2, to 10 experts each, 4,096 wide, in BF16.
    skew, load = ("--most-skew", "1"), ("--load", "--gpus", "8", "--group", "32")
    assert between == (*skew, *load, "--alltoall-bytes", str(4096 * 10 * 4096 * 2))
    quiet = profile.model_copy(update={"preflight_load": False})
    assert "--load" not in preflight_words(quiet, PUBLISHED)
    assert between_words(quiet, PUBLISHED) == skew


def test_the_smoke_recipe_asks_for_no_gpu_and_no_slime() -> None:
    words = preflight_words(THIS_MACHINE, smoke_recipe())
    assert "--pin" not in words
    assert words[words.index("--gpus") + 1] == "0"


def test_this_machine_answers_and_a_broken_question_does_not() -> None:
    report = preflight_here(preflight_words(THIS_MACHINE, smoke_recipe()))
    assert {check["name"] for check in report["checks"]} >= {"memlock", "shared-memory", "leftovers"}
    with pytest.raises(OutsideError, match="invalid int value"):
        preflight_here(["--gpus", "many"])


@pytest.mark.parametrize(("python", "why"), [("/no/python", "cannot be started: No such"), ("/bin/false", "exit stat")])
def test_an_interpreter_that_gives_no_report_is_a_failed_check_of_this_machine(python: str, why: str) -> None:
    report = preflight_here(preflight_words(THIS_MACHINE, smoke_recipe()), python)
    (check,) = report["checks"]
    assert (check["name"], check["status"], check["value"]) == ("python", "fail", python)
    assert check["why"].startswith(f"{python} {why}")
    profile = THIS_MACHINE.model_copy(update={"name": "here", "python": python})
    (problem,) = verdict([report], wanted=1, profile=profile).problems
    assert (str(problem.place), problem.severity) == ("cluster profile here:python", "error")


def test_failed_checks_become_errors_and_warnings_stay_warnings() -> None:
    checks = [
        {"name": "gpu-count", "status": "fail", "value": 7, "why": "7 GPUs"},
        {"name": "leftovers", "status": "warn", "value": [], "why": "raylet (12)"},
        {"name": "driver", "status": "ok", "value": "580", "why": ""},
    ]
    found = verdict([{"host": "n1", "checks": checks}], wanted=2)
    assert [(p.place.key, p.rule, p.severity) for p in found.problems] == [
        ("n1.gpu-count", "preflight-gpu", "error"),
        ("n1.leftovers", "preflight-leftovers", "warning"),
        ("nodes", "preflight-nodes", "error"),
    ]
    assert found.document()["nodes"][0]["host"] == "n1"
    assert verdict([{"host": "n1", "checks": checks[2:]}], wanted=1).problems == ()


def test_nodes_stand_in_the_order_of_the_hosts_beyond_ten_too() -> None:
    hosts = [f"n{number}" for number in range(12)]
    found = verdict([{"host": host, "checks": []} for host in hosts], wanted=12)
    assert [node["host"] for node in found.nodes] == hosts


def test_a_launch_carries_every_program_that_the_preflight_imports() -> None:
    files = {file.path: file.text for file in preflight_files()}
    imported = {
        line.split()[1] + ".py"
        for text in files.values()
        for line in text.splitlines()
        if line.startswith("from preflight_")
    }
    assert imported
    assert imported <= set(files)
