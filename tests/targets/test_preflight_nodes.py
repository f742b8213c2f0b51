"""Nodes of ssh and of Slurm are looked at from here, each by its own machine."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from smoke_recipe import smoke_recipe

from openrecipes.problems import OutsideError
from openrecipes.targets.preflight import verdict
from openrecipes.targets.preflight_nodes import node_script, reports_of_nodes, srun_words, with_skew
from openrecipes.targets.profile import Profile
from openrecipes.targets.slurm_site import SlurmSite
from openrecipes.targets.ssh_site import SshSite

# Plays ssh: the host is the last word but one; `gone` is not reached.
SSH = """#!/bin/bash
host=${@: -2:1}
if [ "$host" = gone ]; then echo "ssh: connect to host gone port 22: No route to host" >&2; exit 255; fi
echo "Welcome to $host"
exec env HOSTNAME="$host" bash -s
"""
# Plays srun: two nodes at once, through one pipe.
SRUN = """#!/bin/bash
printf '%s\\n' "$@" >"$ASKED"
if [ -e "$ASKED.busy" ]; then echo "srun: error: Unable to allocate resources: Requested nodes are busy" >&2; exit 1; fi
script=$(cat)
for name in n1 n2; do HOSTNAME=$name bash -s <<<"$script" & done
wait
"""
# Play docker and apptainer: what stands behind the image is run, here.
CONTAINER = """#!/bin/bash
if [ "$1" = ps ]; then exit 1; fi
printf '%s\\n' "$@" >"$ASKED"
while [[ "$1" != */image* ]]; do shift; done
shift
exec "$@"
"""
SMALL = ("--gpus", "0", "--nofile", "1", "--shm-gib", "0")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"ssh": SSH, "srun": SRUN, "sinfo": "#!/bin/sh\necho 'gpu*|2'\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    return tmp_path


def _profile(target: str, **more: Any) -> Profile:
    given = {
        "schema_version": 1,
        "name": "x",
        "target": target,
        "python": sys.executable,
        "keep_environment": ("ASKED",),
    }
    return Profile.model_validate({**given, **more})


def test_every_host_answers_for_itself_and_one_that_does_not_is_named(folder: Path) -> None:
    profile = _profile("ssh", ssh=SshSite(hosts=("n1", "me@n2", "gone")))
    found = reports_of_nodes(profile, SMALL, None, wait_s=1)
    assert [report["host"] for report in found] == ["n1", "me@n2", "gone"]
    assert "No route to host" in found[2]["checks"][0]["why"]
    skews = [check for report in found for check in report["checks"] if check["name"] == "clock-skew"]
    assert [check["status"] for check in skews] == ["ok", "ok"]
    judged = verdict(found, wanted=3)
    assert [p.place.key for p in judged.problems if p.severity == "error"] == ["gone.ssh"]
    assert all("log in there by hand" in p.mend for p in judged.problems if p.rule == "preflight-ssh")


@pytest.mark.parametrize("runtime", ["docker", "apptainer"])
def test_a_node_is_looked_at_inside_its_container(folder: Path, runtime: str) -> None:
    program = folder / runtime
    program.write_text(CONTAINER, encoding="utf-8")
    program.chmod(0o755)
    container = {"runtime": runtime, "image": f"/image@sha256:{'0' * 64}" if runtime == "docker" else "/image.sif"}
    profile = _profile("ssh", ssh=SshSite(hosts=("n1",)), container=container)
    (report,) = reports_of_nodes(profile, SMALL, None, wait_s=1)
    assert "memlock" in [check["name"] for check in report["checks"]], report
    asked = (folder / "asked").read_text(encoding="utf-8").split()
    bound = [word for word in asked if "/openrecipes-preflight-" in word and ":" in word]
    assert len(set(bound)) == len(bound) == 2, "docker refuses one path twice"


@pytest.mark.parametrize("target", ["ssh", "slurm"])
@pytest.mark.parametrize("python", ["/no/such/python", "a-python-that-is-nowhere", "/etc/passwd"])
def test_an_interpreter_that_a_node_lacks_is_its_failed_check_at_the_profiles_key(
    folder: Path, target: str, python: str
) -> None:
    site: dict[str, Any] = {"ssh": SshSite(hosts=("n1", "n2"))} if target == "ssh" else {"slurm": SlurmSite()}
    profile = _profile(target, **site, python=python)
    found = reports_of_nodes(profile, SMALL, None, wait_s=1)
    assert [report["host"] for report in found] == ["n1", "n2"]
    errors = [p for p in verdict(found, wanted=2, profile=profile).problems if p.severity == "error"]
    assert [(str(p.place), p.rule) for p in errors] == [("cluster profile x:python", "preflight-python")] * 2
    assert [p.what for p in errors] == [
        f"{python} is not there, or may not be run, on the node {host}" for host in ("n1", "n2")
    ]


def test_a_container_program_that_a_node_lacks_is_not_laid_on_the_interpreter(folder: Path) -> None:
    container = {"runtime": "apptainer", "image": "/image.sif"}
    profile = _profile("ssh", ssh=SshSite(hosts=("n1",)), container=container)
    (report,) = reports_of_nodes(profile, SMALL, None, wait_s=1)
    assert [check["name"] for check in report["checks"] if check["status"] == "fail"] == ["ssh"]


def test_a_recipe_takes_only_the_hosts_that_it_needs(folder: Path) -> None:
    profile = _profile("ssh", ssh=SshSite(hosts=("n1", "gone")))
    (report,) = reports_of_nodes(profile, SMALL, smoke_recipe(), wait_s=1)
    assert report["host"] == "n1"


def test_nodes_of_slurm_answer_through_one_pipe(folder: Path) -> None:
    profile = _profile("slurm", slurm=SlurmSite(partition="gpu", account="lab", options=("--wckey=x",)))
    found = reports_of_nodes(profile, SMALL, None, wait_s=7)
    assert len(found) == 2
    asked = (folder / "asked").read_text(encoding="utf-8").split()
    assert {"--nodes=2", "--ntasks-per-node=1", "--partition=gpu", "--account=lab", "--immediate=7"} <= set(asked)
    assert asked[-3:] == ["--wckey=x", "bash", "-s"]
    (folder / "asked.busy").touch()
    with pytest.raises(OutsideError, match="Requested nodes are busy"):
        reports_of_nodes(profile, SMALL, None, wait_s=7)


def test_gpus_and_a_container_are_asked_for_as_a_job_would() -> None:
    container = {"runtime": "pyxis", "image": "/x.sqsh", "image_sha256": "0" * 64, "mounts": ({"source": "/fsx"},)}
    words = srun_words(
        _profile("slurm", container=container, slurm=SlurmSite(gpu_request="gres", gpu_type="h200")), 4, 8, 9
    )
    assert {"--gres=gpu:h200:8", "--container-image=/x.sqsh", "--container-mounts=/fsx:/fsx", "--exclusive"} <= set(
        words
    )


@pytest.mark.tool("srun")
@pytest.mark.parametrize(("option", "is_srun_s"), [("--wckey=x", True), ("--network=x", True), ("--batch=x", False)])
def test_srun_is_given_only_options_that_it_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, is_srun_s: bool
) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=x\nSlurmctldHost=localhost\n", encoding="utf-8")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    options = (option, "--kill-on-invalid-dep=yes", "--ignore-pbs", "--dependency=singleton", "--mail-type=END")
    words = srun_words(_profile("slurm", slurm=SlurmSite(options=options)), 1, 0, 9)
    for known, asked in ((True, words[:-2]), (is_srun_s, ("srun", option))):
        said = subprocess.run([*asked, "--help"], capture_output=True, text=True, check=False).stderr
        assert ("unrecognized option" not in said) == known, said
    assert (option in words) == is_srun_s
    assert not any(word.startswith(("--kill", "--dependency", "--mail")) for word in words if word in options)


def test_a_clock_that_is_off_is_named() -> None:
    reports = [
        {"host": h, "ok": True, "checks": [], "clock": (off, 0.0)} for h, off in (("a", 0), ("b", 0.1), ("c", 9))
    ]
    found = with_skew(reports)
    assert [report["checks"][0]["status"] for report in found] == ["ok", "ok", "fail"]
    assert [report["ok"] for report in found] == [True, True, False]
    assert "clock" not in found[0]


@pytest.mark.tool("shellcheck")
def test_the_nodes_script_is_sound_shell(tmp_path: Path) -> None:
    path = tmp_path / "node.sh"
    for runtime in ("docker", "apptainer"):
        container = {"runtime": runtime, "image": "x@sha256:" + "0" * 64}
        profile = _profile("ssh", ssh=SshSite(hosts=("n1",)), container=container)
        path.write_text(node_script(profile, ("--file", "a b'c"), has_gpus=True), encoding="utf-8")
        subprocess.run(["bash", "-n", str(path)], check=True)
        ran = subprocess.run(["shellcheck", "-s", "bash", str(path)], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout
