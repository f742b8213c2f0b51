"""A checkpoint made by several nodes, of a real Slurm and over real sshd: whole, interrupted, not on a shared disk."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import converter_stand_in
import pytest
from loopback import Site, child_of, wait_until

RECIPE = "qwen3.5-moe-small/h200/openrecipes-tp2-ep2"
WEIGHT_BYTES = 2 * 748_976_096
OURS = ("node.sh", "remote.sh", "launch.sh", "converter.py", "prepare_checkpoint.py")


def words(site: Site, target: str, *more: str, play: str = "whole", step_s: str = "0.1", **said: Any) -> list[str]:
    for name in ("hf", "dist"):  # those that slime's stand-in has made
        if (site.folder / name).is_dir() and not any((site.folder / name).iterdir()):
            (site.folder / name).rmdir()
    site.python = str(converter_stand_in.install(site.folder))
    env = {"WEIGHT_BYTES": str(WEIGHT_BYTES), "PLAY": play, "STEP_S": step_s}
    profile = site.profile(target, env=env, **said)
    call = [sys.executable, "-m", "openrecipes", "checkpoint", "prepare", RECIPE, "--cluster", str(profile), "--random"]
    return [*call, "--work-dir", str(site.folder / "made"), "--json", "--nodes", "4", "--gpus", "1", *more]


def prepare(site: Site, target: str, *more: str, **said: Any) -> "subprocess.CompletedProcess[str]":
    return site.cluster.run(*words(site, target, *more, **said), cwd=site.folder)


def seen(site: Site) -> list[dict[str, Any]]:
    return [json.loads((site.folder / f"seen-{rank}.json").read_text()) for rank in range(4)]


def document(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    assert done.stdout, done.stderr
    return dict(json.loads(done.stdout))


def log(said: dict[str, Any]) -> str:
    return (Path(said["run_dir"]) / "log" / "train.log").read_text()


def option(argv: list[str], name: str) -> str:
    return argv[argv.index(name) + 1]


@pytest.mark.parametrize("target", ["slurm", "ssh"])
def test_four_nodes_make_one_checkpoint(site: Site, target: str) -> None:
    done = prepare(site, target)
    said = document(done)
    assert (done.returncode, said["state"]) == (0, "made"), done.stderr + log(said)
    assert (said["nodes"], said["gpus_per_node"]) == (4, 1)
    found = seen(site)
    assert [option(one["argv"], "--node-rank") for one in found] == ["0", "1", "2", "3"]
    assert len({option(one["argv"], "--master-addr") + option(one["argv"], "--master-port") for one in found}) == 1
    assert {option(one["argv"], "--nnodes") for one in found} == {"4"}
    assert len(list((site.folder / "dist" / "release").glob("*.distcp"))) == 4
    assert not (site.folder / "dist.partial").exists()
    assert f"{site.folder}/dist is whole, 1.4 GiB" in log(said)
    assert said["disk"]["free_bytes"] > said["disk"]["needed_bytes"]
    assert document(prepare(site, target))["state"] == "whole"
    assert site.cluster.processes(*OURS) == []


@pytest.mark.parametrize("target", ["slurm", "ssh"])
def test_a_node_that_dies_ends_all_and_the_same_command_starts_again(site: Site, target: str) -> None:
    done = prepare(site, target, play="die")
    said = document(done)
    assert (done.returncode, [problem["rule"] for problem in said["problems"]]) == (3, ["checkpoint-made"])
    assert "the converter ended on n4 with exit status 9" in log(said)
    assert not (site.folder / "dist").exists()
    assert site.cluster.processes(*OURS) == []
    again = prepare(site, target)
    assert (again.returncode, document(again)["kept"]) == (0, [str(site.folder / "hf")])


def test_a_job_that_is_cancelled_is_taken_up_by_the_next(site: Site) -> None:
    detached = document(prepare(site, "slurm", "--detach", play="hang"))
    assert detached["state"] == "running"
    wait_until(lambda: len(list(site.folder.glob("dist.partial/*/*.distcp"))) == 4)
    refused = prepare(site, "slurm", play="hang")
    assert [problem["rule"] for problem in document(refused)["problems"]] == ["checkpoint-going"]
    (number,) = site.cluster.queue()
    site.cluster.run("scancel", number)
    wait_until(lambda: site.cluster.queue() == [])
    again = prepare(site, "slurm")
    assert (again.returncode, document(again)["state"]) == (0, "made"), again.stderr
    assert site.cluster.processes(*OURS) == []
    records = [json.loads(path.read_text()) for path in (site.folder / "made").glob("*/preparation.json")]
    assert sorted(record["outcome"] for record in records) == ["completed", "interrupted"]


def test_a_detached_job_is_followed_by_whoever_comes_later(site: Site) -> None:
    prepare(site, "slurm", "--detach", step_s="2")
    attached = prepare(site, "slurm", "--attach", step_s="2")
    assert (attached.returncode, document(attached)["state"]) == (0, "made"), attached.stderr


def test_ctrl_c_ends_it_on_every_host(site: Site) -> None:
    with site.cluster.start(*words(site, "ssh", play="hang"), cwd=site.folder) as harness:
        wait_until(lambda: len(list(site.folder.glob("dist.partial/*/*.distcp"))) == 4)
        os.kill(child_of(harness.pid), signal.SIGINT)
        said = json.loads(harness.communicate(timeout=300)[0])
    assert (harness.returncode, said["state"]) == (130, "interrupted")
    assert site.cluster.processes(*OURS) == []


@pytest.mark.parametrize("target", ["slurm", "ssh"])
def test_a_folder_that_is_not_shared_is_refused_before_anybody_writes(site: Site, target: str) -> None:
    paths = {"hf_checkpoint": "hf", "slime": "slime", "megatron": "megatron"}
    said = {name: str(site.folder / path) for name, path in paths.items()}
    # Each node of the cluster has its own /tmp/ray.
    done = prepare(site, target, paths={**said, "torch_dist": "/tmp/ray/dist"}, join_seconds=3)
    assert done.returncode == 3, done.stderr
    assert "does not see /tmp/ray/dist.partial, which the first node has made" in log(document(done))
    assert site.cluster.processes(*OURS) == []
