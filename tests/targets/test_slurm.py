"""The batch script and the containers, run with a Slurm, an Apptainer and a Docker that play."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openrecipes.targets.local import LocalTarget
from openrecipes.targets.profile import Profile
from openrecipes.targets.slurm import SlurmTarget, sbatch_options
from openrecipes.targets.slurm_commands import job_name, job_number, nodes_of, submit_environment
from openrecipes.targets.slurm_site import SlurmSite
from openrecipes.targets.submit import write_rendered
from openrecipes.targets.target import Launch

DIGEST = "0" * 64
MOUNTS = [{"source": "/data of 'us' $HOME"}, {"source": "/a", "target": "/b c", "read_only": True}]
# Writes its arguments down, then becomes what stands behind its own options.
STARTER = """#!/bin/bash
printf '%s\\0' "$@" >"$OPENRECIPES_RUN_DIR/${0##*/}.arguments"
while [ "$1" != bash ]; do shift; done
exec "$@"
"""
TOOLS = {
    "srun": STARTER,
    "apptainer": STARTER,
    "docker": STARTER,
    "scontrol": '#!/bin/bash\necho "$SLURM_NODES_HERE" | tr , "\\n"\n',
    "scancel": "#!/bin/bash\nexit 0\n",
}


def made(stage: Any, target: str = "slurm", **profile: Any) -> Launch:
    launch = stage.launch()
    said = {"schema_version": 1, "name": "c", "target": target, "python": str(stage.python), "preflight": "off"}
    return replace(launch, profile=Profile.model_validate_json(json.dumps({**said, **profile})))


def run(stage: Any, launch: Launch, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """The launch's script by hand, in its run directory, as Slurm would start it."""
    tools = stage.folder / "tools"
    tools.mkdir(exist_ok=True)
    for name, text in TOOLS.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    target = SlurmTarget() if launch.profile.target == "slurm" else LocalTarget()
    if not (folder / "rendered").exists():
        write_rendered(target.render(launch), folder / "rendered")
    slurm = {
        "SLURM_JOB_ID": "17",
        "SLURM_JOB_NODELIST": "n[1]",
        "SLURM_JOB_NUM_NODES": "1",
        "SLURM_SUBMIT_DIR": str(folder),
        "SLURM_NODES_HERE": "n1",
    }
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    kept = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8"}
    return subprocess.run(
        ["bash", str(folder / "rendered" / "launch.sh"), *([str(folder)] if launch.profile.target == "local" else [])],
        env={**kept, **slurm, **more},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def arguments(folder: Path, program: str) -> list[str]:
    return (folder / f"{program}.arguments").read_text().split("\0")[:-1]


def job(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "job.json").read_text()))


@pytest.fixture
def folder(stage: Any) -> Path:
    path = Path(stage.folder / "run's $dir")
    (path / "log").mkdir(parents=True)
    return path


def test_the_script_runs_the_trainer_and_knows_its_job(stage: Any, folder: Path) -> None:
    done = run(stage, made(stage), folder)
    assert done.returncode == 0, done.stderr
    assert (job(folder)["exit_status"], job(folder)["scheduler_id"]) == (0, "17")
    log = (folder / "log" / "train.log").read_text()
    assert "openrecipes: job 17 on n1\n" in log
    assert "step 13:" in log
    env = json.loads((folder / "log" / "seen.json").read_text())["env"]
    assert [name for name in env if name.startswith("SLURM")] == []


def test_fewer_nodes_than_the_recipe_needs_are_named_and_nothing_starts(stage: Any, folder: Path) -> None:
    done = run(stage, made(stage), folder, SLURM_NODES_HERE="n1,n2", SLURM_JOB_NUM_NODES="2")
    assert done.returncode == 2
    assert job(folder)["cause"] == "the job has 2 nodes (n1,n2), and the recipe needs 1"
    assert not (folder / "log" / "seen.json").exists()


def test_a_job_that_slurm_began_again_keeps_the_earlier_attempt_apart(stage: Any, folder: Path) -> None:
    launch = made(stage, slurm={"requeue": True})
    assert run(stage, launch, folder, SLURM_JOB_NUM_NODES="3").returncode == 2
    first = (folder / "job.json").read_bytes()
    (folder / "checkpoint-report.json").write_text("{}")
    assert run(stage, launch, folder, SLURM_RESTART_COUNT="1").returncode == 0
    assert (folder / "attempts" / "0" / "job.json").read_bytes() == first
    assert (folder / "attempts" / "0" / "checkpoint-report.json").exists()
    assert not (folder / "checkpoint-report.json").exists()
    assert "the recipe needs 1" in (folder / "attempts" / "0" / "log" / "train.log").read_text()
    assert job(folder)["exit_status"] == 0
    assert "the recipe needs 1" not in (folder / "log" / "train.log").read_text()


def test_without_leave_to_requeue_a_second_start_does_nothing(stage: Any, folder: Path) -> None:
    launch = made(stage)
    assert run(stage, launch, folder).returncode == 0
    before = (folder / "job.json").read_bytes()
    again = run(stage, launch, folder, SLURM_RESTART_COUNT="1")
    assert again.returncode == 2
    assert "a run directory is used once" in again.stderr
    assert (folder / "job.json").read_bytes() == before


def test_pyxis_gets_every_mount_in_one_word_and_the_variables_by_name(stage: Any, folder: Path) -> None:
    container = {"runtime": "pyxis", "image": f"registry#a@sha256:{DIGEST}", "mounts": MOUNTS}
    launch = made(stage, container=container, keep_environment=["NCCL_TOPO_FILE"])
    assert run(stage, launch, folder).returncode == 0
    words = arguments(folder, "srun")
    own = f"{folder}:{folder},{folder}/rendered:{folder}/rendered"
    assert f"--container-mounts={own},/data of 'us' $HOME:/data of 'us' $HOME,/a:/b c:ro" in words
    assert f"--container-image=registry#a@sha256:{DIGEST}" in words
    assert {"--container-env=OPENRECIPES_RUN_DIR,NCCL_TOPO_FILE", "--no-container-mount-home"} <= set(words)
    assert {"--export=ALL", "--overlap", "--kill-on-bad-exit=1", "--wait=0", "--nodelist=n1"} <= set(words)


@pytest.mark.parametrize(("runtime", "option"), [("apptainer", "--bind"), ("docker", "--volume")])
def test_a_container_on_this_machine_sees_the_run_and_the_mounts(
    stage: Any, folder: Path, runtime: str, option: str
) -> None:
    container = {"runtime": runtime, "image": f"a@sha256:{DIGEST}", "mounts": MOUNTS}
    done = run(stage, made(stage, "local", container=container, keep_environment=["NCCL_TOPO_FILE"]), folder)
    assert done.returncode == 0, (folder / "log" / "train.log").read_text()
    words = arguments(folder, runtime)
    seen = [words[at + 1] for at, word in enumerate(words) if word == option]
    assert seen == [
        f"{folder}:{folder}",
        f"{folder}/rendered:{folder}/rendered",
        "/data of 'us' $HOME:/data of 'us' $HOME",
        "/a:/b c:ro",
    ]
    assert words[words.index("bash") - 1] == f"a@sha256:{DIGEST}"
    assert json.loads((folder / "environment.json").read_text())["image"] == f"a@sha256:{DIGEST}"
    if runtime == "docker":
        assert words[words.index("--env") : words.index("--env") + 4] == [
            "--env",
            "OPENRECIPES_RUN_DIR",
            "--env",
            "NCCL_TOPO_FILE",
        ]


def test_the_options_of_a_job_say_what_the_site_says(stage: Any) -> None:
    launch = made(stage, time_limit_seconds=100)
    site = SlurmSite(
        partition="gpu", account="a", qos="high", reservation="r", exclude=("n7", "n9"), cpus_per_node=64,
        exclusive=False, memory_gib_per_node=900, requeue=True, options=("--wckey=x",),
    )  # fmt: skip
    options = list(sbatch_options(launch, site))
    assert {
        "--nodes=1", "--ntasks-per-node=1", "--partition=gpu", "--account=a", "--qos=high", "--reservation=r",
        "--exclude=n7,n9", "--cpus-per-task=64", "--mem=900G", "--time=2", "--signal=B:TERM@25", "--requeue",
        "--output=log/slurm.log", "--open-mode=append", "--wckey=x",
    } < set(options)  # fmt: skip
    assert "--exclusive" not in options
    assert not [option for option in options if "gpu" in option.partition("=")[0]]  # a recipe of CPUs


def test_the_nodes_of_a_partition_are_read_from_what_sinfo_prints() -> None:
    printed = "gpu*|12\ngpu*|4\ncpu|100\nodd\n"
    assert [nodes_of(printed, name) for name in (None, "gpu", "cpu", "none")] == [16, 16, 100, None]
    assert nodes_of("cpu|3\n", None) is None


def test_a_jobs_number_and_name() -> None:
    assert [job_number(text) for text in ("17\n", "17;cluster\n", "warning: x\n18\n")] == ["17", "17", "18"]
    assert job_name("run's dir, é") == "run_s_dir___"


def test_sbatch_inherits_what_a_job_keeps_and_none_of_its_own_variables() -> None:
    profile = Profile(schema_version=1, name="c", target="slurm", keep_environment=("NCCL_TOPO_FILE",))
    caller = {"PATH": "/bin", "NCCL_TOPO_FILE": "/t", "SBATCH_ACCOUNT": "x", "SLURM_CONF": "/s", "SECRET": "y"}
    assert submit_environment(profile, caller) == {"PATH": "/bin", "NCCL_TOPO_FILE": "/t", "SLURM_CONF": "/s"}
