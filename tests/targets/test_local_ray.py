"""slime on this machine: the script around Ray and the driver, with a Ray that plays."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from openrecipes.problems import ProblemsError
from openrecipes.recipe.read import read_recipe
from openrecipes.runs.directory import named_run_directory
from openrecipes.shipped import shipped
from openrecipes.targets.own_processes import own_processes
from openrecipes.targets.profile import Paths, Profile
from openrecipes.targets.rendering import prepared, target_named
from openrecipes.targets.submit import submit, write_rendered

PUBLISHED = ("recipes", "qwen3.5-397b-a17b", "h200", "attune-tp2-pp4-ep32.yaml")
ON_TWO_GPUS = (
    "gpu.count=2",
    "gpu.per_node=2",
    "layout.tp=1",
    "layout.pp=1",
    "layout.ep=2",
    "result.steps_per_run=4",
)


def profile(stage, **env):
    paths = {name: stage.folder / name for name in ("slime", "megatron", "hf_checkpoint", "torch_dist")}
    for path in paths.values():
        path.mkdir(exist_ok=True)
    return Profile(
        schema_version=1,
        name="one node",
        target="local",
        python=str(stage.python),
        paths=Paths(**{name: str(path) for name, path in paths.items()}),
        env={"PATH": f"{stage.python.parent}{os.pathsep}{os.environ['PATH']}", "STEPS": "4", **env},
    )


def launched(stage, **env):
    located = read_recipe(shipped(*PUBLISHED))
    ready = prepared(located, target_named("local"), settings=ON_TWO_GPUS, profile=profile(stage, **env))
    run = named_run_directory(stage.folder / "run's dir")
    write_rendered(ready.rendered, run.rendered)
    return ready, run, submit(ready.rendered, run).wait(60)


def test_the_driver_runs_in_slime_with_the_recipes_arguments_and_environment(stage):
    ready, run, status = launched(stage, PYTHONPATH="/site's $more", LITERAL="a '$b'")
    found = json.loads((run.root / "log" / "seen.json").read_text())
    values = {
        "$HF_CKPT": str(stage.folder / "hf_checkpoint"),
        "$TORCH_DIST": str(stage.folder / "torch_dist"),
        "$SFT_DATA": str(run.rows),
    }
    assert status == 0
    assert found["argv"] == [values.get(word, word) for word in ready.launch.command.argv()]
    assert found["argv"][0] == "train_async.py"
    assert found["cwd"] == str(stage.folder / "slime")
    env = found["env"]
    assert env["LITERAL"] == "a '$b'"
    assert env["NCCL_NVLS_ENABLE"] == "0"
    assert env["PYTHONPATH"] == ":".join(
        (str(run.rendered), str(stage.folder / "megatron"), str(stage.folder / "slime"), "/site's $more")
    )
    assert (env["RAY_DEDUP_LOGS"], env["RAY_COLOR_PREFIX"], env["PYTHONUNBUFFERED"]) == ("0", "0", "1")


def test_ray_gets_the_same_environment_and_its_own_ports_and_folder(stage):
    _, run, _ = launched(stage)
    arguments = (run.root / "ray-arguments").read_text().splitlines()
    env = dict(line.split("=", 1) for line in (run.root / "ray-environment").read_text().splitlines() if "=" in line)
    found = json.loads((run.root / "log" / "seen.json").read_text())["env"]
    assert arguments[0] == "start"
    assert {"--head", "--block", "--include-dashboard=false"} <= set(arguments)
    assert "--num-gpus=2" in arguments
    ports = [
        item.split("=")[1] for item in arguments if item.partition("=")[0].endswith("-port") or item[:7] == "--port="
    ]
    assert len(set(ports)) == 5
    own = next(item.removeprefix("--port=") for item in arguments if item.startswith("--port="))
    assert found["RAY_ADDRESS"].endswith(f":{own}")
    assert {name: env[name] for name in ("CUDA_DEVICE_MAX_CONNECTIONS", "NCCL_NVLS_ENABLE", "RAY_ADDRESS")} == {
        name: found[name] for name in ("CUDA_DEVICE_MAX_CONNECTIONS", "NCCL_NVLS_ENABLE", "RAY_ADDRESS")
    }
    folder = next(item.split("=")[1] for item in arguments if item.startswith("--temp-dir="))
    assert not Path(folder).exists()
    assert own_processes(run.root) == ()


def test_gpus_that_do_not_join_in_time_end_the_job_before_the_driver(stage):
    _, run, status = launched(stage, JOIN_STATUS="75")
    assert status == 75
    assert run.job().exit_status == 75
    assert not (run.root / "log" / "seen.json").exists()
    assert own_processes(run.root) == ()


def test_a_ray_that_never_answers_is_not_waited_for_without_limit(stage):
    ready, run, status = launched(stage, JOIN_STATUS="124")  # as timeout ends
    assert status == 124
    assert (
        "Ray on the head took a connection and never answered"
        in json.loads((run.root / "job.json").read_text())["cause"]
    )
    [script] = [file.text for file in ready.rendered.files if file.path == "node.sh"]
    assert "in_time=(timeout --kill-after=5 330)" in script
    assert 'run_owned "${in_time[@]}" env' in script


def test_a_ray_that_ends_ends_the_driver_and_the_job_fails(stage):
    _, run, status = launched(stage, RAY_LIVES_S="1", PLAY="hang")
    assert status not in (0, 75)
    assert "the process beside this one has ended" in run.log.read_text()
    assert own_processes(run.root) == ()


def test_the_drivers_status_is_passed_on(stage):
    _, run, status = launched(stage, STATUS="7")
    assert (status, run.job().exit_status) == (7, 7)


def test_what_slime_needs_and_no_profile_says_is_named_all_at_once():
    located = read_recipe(shipped(*PUBLISHED))
    with pytest.raises(ProblemsError) as caught:
        prepared(located, target_named("local"), settings=ON_TWO_GPUS)
    keys = [problem.place.key for problem in caught.value.problems if problem.severity == "error"]
    assert sorted(keys) == ["paths.hf_checkpoint", "paths.megatron", "paths.slime", "paths.torch_dist"]


def test_what_the_site_sets_is_a_deviation_with_its_origin(stage):
    site = profile(stage).model_copy(update={"arguments": {"attention_backend": "fused"}})
    located = read_recipe(shipped(*PUBLISHED))
    ready = prepared(located, target_named("local"), settings=(*ON_TWO_GPUS, "env.STEPS=5"), profile=site)
    words = [item for item in ready.deviations if "cluster profile one node" in item]
    assert any(item.startswith("arguments.attention_backend=fused") for item in words)
    by_flag = {argument.flag: argument for argument in ready.launch.command.arguments}
    assert by_flag["--attention-backend"].values == ("fused",)
    assert by_flag["--attention-backend"].origin == "cluster profile one node arguments.attention_backend"
    assert ready.launch.recipe.env["STEPS"] == "5"


@pytest.mark.tool("shellcheck")
def test_shellcheck_finds_nothing(stage):
    located = read_recipe(shipped(*PUBLISHED))
    ready = prepared(located, target_named("local"), settings=ON_TWO_GPUS, profile=profile(stage))
    for file in (one for one in ready.rendered.files if one.path.endswith(".sh")):
        ran = subprocess.run(["shellcheck", "-s", "bash", "-"], input=file.content, capture_output=True, check=False)
        assert ran.stdout.decode() == ""
