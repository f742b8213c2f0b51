"""Launches over a real sshd on each of four hosts: a real Ray, and what happens when either end goes away."""

import json
import os
import signal
from pathlib import Path

import pytest
from loopback import NODES, PUBLISHED, Site, child_of, seen, settings, wait_until

SECRET = "hunter2-of-the-test"


@pytest.mark.tool("module:ray")
def test_four_hosts_train_and_everything_comes_back(site: Site) -> None:
    profile = site.profile("ssh", secrets={"TOKEN": {"variable": "MY_TOKEN"}})
    caller = {"MY_TOKEN": SECRET, "NCCL_DEBUG": "leaked"}
    done = site.launch(PUBLISHED, profile, "run's dir", *settings(NODES, ODD="a 'b' $c `d`"), env=caller)
    run = site.opened("run's dir")
    assert done.returncode == 0, done.stderr + run.log.read_text()
    record = json.loads(done.stdout)
    assert (record["outcome"], record["steps_read"], record["submission"]["kind"]) == ("completed", 8, "process")
    found = seen(run)
    assert sorted(node["host"] for node in found["nodes"]) == ["n1", "n2", "n3", "n4"]
    for env in (found["env"], *(node["env"] for node in found["nodes"])):
        assert (env["ODD"], env["NCCL_NVLS_ENABLE"], env["TOKEN"]) == ("a 'b' $c `d`", "0", SECRET)
        assert "leaked" not in env.values()
    names = {path.name for path in run.log.parent.iterdir()}
    assert {f"ray-n{i}.log" for i in range(1, NODES + 1)} | {f"exit-{i}" for i in range(NODES)} <= names
    assert run.environment.exists()
    files = [path for path in run.root.rglob("*") if path.is_file() and path.name != "seen.json"]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert site.cluster.processes("ray", "node.sh", "remote.sh", "train_async") == []
    assert list((site.cluster.folder / "ray").glob("*/openrecipes-*")) == []


@pytest.mark.tool("module:ray")
def test_a_host_that_dies_ends_the_run_on_the_others(site: Site) -> None:
    words = site.words(PUBLISHED, site.profile("ssh"), "run", *settings(2, PLAY="hang"))
    with site.cluster.start(*words, cwd=site.folder) as harness:
        log = site.folder / "run" / "log" / "train.log"
        wait_until(lambda: log.exists() and "step 3:" in log.read_text())
        (raylet,) = site.cluster.run("pgrep", "-f", "raylet/raylet .*node_ip_address=127.0.0.12").stdout.split()
        site.cluster.run("kill", "-KILL", raylet)
        document = json.loads(harness.communicate(timeout=300)[0])
    assert (harness.returncode, document["outcome"]) == (1, "failed")
    assert document["job"]["cause"].startswith("Ray ended on n2 (exit status 1)")
    assert (log.parent / "ray" / "n2").is_dir()
    assert site.cluster.processes("ray", "node.sh", "remote.sh", "train_async") == []


def ssh_site(site: Site, **more: object) -> Path:
    """A profile of one host whose python plays the smoke trainer."""
    config = str(site.cluster.folder / "ssh" / "config")
    return site.profile("ssh", ssh={"hosts": ["n3"], "config": config, "folder": "/tmp/ray", **more})


def test_the_trainers_own_exit_status_comes_back(site: Site) -> None:
    recipe, _ = site.smoke(STATUS="7")
    document = json.loads(site.launch(recipe, ssh_site(site), "run").stdout)
    assert (document["outcome"], document["job"]["exit_status"]) == ("failed", 7)
    assert document["steps_read"] == 14


def test_remote_programs_end_with_a_client_that_is_killed(site: Site) -> None:
    recipe, _ = site.smoke(PLAY="hang")
    words = site.words(recipe, ssh_site(site), "run")
    with site.cluster.start(*words, cwd=site.folder) as harness:
        wait_until(lambda: site.cluster.processes("trainer.py") != [])
        script = int(site.opened("run").record().submission.id)
        site.cluster.run("kill", "-KILL", "--", f"-{script}")
        document = json.loads(harness.communicate(timeout=300)[0])
    assert (document["outcome"], document["job"]["end_unix_s"]) == ("failed", None)
    wait_until(lambda: site.cluster.processes("node.sh", "remote.sh", "trainer.py") == [], 30)


def test_a_signal_ends_the_run_on_its_host_and_brings_its_files_back(site: Site) -> None:
    recipe, _ = site.smoke(PLAY="hang")
    words = site.words(recipe, ssh_site(site), "run")
    with site.cluster.start(*words, cwd=site.folder) as harness:
        wait_until(lambda: site.cluster.processes("trainer.py") != [])
        os.kill(child_of(harness.pid), signal.SIGINT)
        document = json.loads(harness.communicate(timeout=300)[0])
    assert (harness.returncode, document["outcome"], document["job"]["signal"]) == (130, "interrupted", "TERM")
    assert (site.folder / "run" / "environment.json").exists()
    assert (site.folder / "run" / "log" / "exit-0").read_text() == "143\n"
    assert site.cluster.processes("node.sh", "remote.sh", "trainer.py") == []


def test_a_detached_run_is_found_again_and_stopped(site: Site) -> None:
    recipe, _ = site.smoke(PLAY="hang")
    assert site.launch(recipe, ssh_site(site), "run", "--detach").returncode == 0
    wait_until(lambda: site.cluster.processes("trainer.py") != [])
    stopped = site.follow("--stop", "run")
    document = json.loads(stopped.stdout)
    assert (stopped.returncode, document["outcome"], document["job"]["signal"]) == (0, "interrupted", "TERM")
    assert site.cluster.processes("node.sh", "remote.sh", "trainer.py") == []


def test_a_host_that_cannot_be_reached_is_named_with_sshs_own_words(site: Site) -> None:
    recipe, _ = site.smoke()
    document = json.loads(site.launch(recipe, ssh_site(site, hosts=["n9"]), "run").stdout)
    assert (document["outcome"], document["job"]["exit_status"]) == ("failed", 75)
    assert document["job"]["cause"].startswith("n9 cannot be reached or written to: ")
    assert "n9" in document["job"]["cause"].removeprefix("n9")


def test_too_few_hosts_are_refused_and_nothing_is_made(site: Site) -> None:
    profile = ssh_site(site, hosts=["n1", "n2"])
    done = site.launch(PUBLISHED, profile, "run", *settings(NODES))
    (problem,) = [problem for problem in json.loads(done.stdout)["problems"] if problem["severity"] == "error"]
    assert (done.returncode, problem["rule"], problem["file"]) == (1, "target-nodes", str(profile))
    assert not (site.folder / "run").exists()
