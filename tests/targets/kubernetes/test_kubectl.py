"""kubectl is asked the right things, and only a job that succeeded has succeeded."""

import json
import os
from pathlib import Path

import pytest
from rayjobs import profile

from openrecipes.problems import OutsideError
from openrecipes.targets.kubectl import (
    answer,
    create_job_command,
    delete_command,
    exec_command,
    job_command,
    kubectl,
    log_command,
    ran,
)
from openrecipes.targets.kubernetes_site import KubernetesSite
from openrecipes.targets.kubernetes_status import JobStatus, is_marked, job_status, pods, pods_words

FAKE = """#!/bin/sh
printf '%s\\n' "$*" >> "$FOLDER/asked"
case "$*" in
*" create "*) [ -f "$FOLDER/refuses" ] && { echo 'Error from server: admission webhook denied' >&2; exit 1; }
  echo rayjob.ray.io/qwen-abcde ;;
*" get "*) cat "$FOLDER/status" ;;
esac
"""


@pytest.fixture
def site() -> KubernetesSite:
    found = profile().kubernetes
    assert found is not None
    return found


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text(FAKE, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FOLDER", str(tmp_path))
    return tmp_path


def _status(**found: str) -> JobStatus:
    return job_status({"status": found})


@pytest.mark.parametrize(
    ("job", "deployment", "outcome"),
    [
        ("SUCCEEDED", "Complete", "succeeded"),
        ("SUCCEEDED", "Running", "succeeded"),
        ("STOPPED", "Complete", "failed"),
        ("FAILED", "Failed", "failed"),
        ("", "Complete", "failed"),
        ("", "ValidationFailed", "failed"),
        ("PENDING", "Failed", "failed"),
        ("RUNNING", "Running", "running"),
        ("PENDING", "Running", "waiting"),
        ("", "Initializing", "waiting"),
        ("", "", "waiting"),
    ],
)
def test_complete_is_no_success(job: str, deployment: str, outcome: str) -> None:
    assert _status(jobStatus=job, jobDeploymentStatus=deployment).outcome == outcome


def test_a_status_in_words() -> None:
    found = _status(jobStatus="FAILED", reason="AppFailed", message="entrypoint failed with exit code 7")
    assert found.words == "FAILED (AppFailed): entrypoint failed with exit code 7"
    assert job_status({}).words == "not yet seen by KubeRay"


def test_a_refusal_of_the_cluster_is_said_in_its_words(cluster: Path, site: KubernetesSite) -> None:
    (cluster / "refuses").touch()
    with pytest.raises(OutsideError, match="admission webhook denied"):
        ran(create_job_command(site, cluster, "mark"))


def test_a_status_is_read_from_the_cluster(cluster: Path, site: KubernetesSite) -> None:
    document = {"status": {"jobStatus": "RUNNING", "rayClusterName": "qwen-abcde-x1y2z"}}
    (cluster / "status").write_text(json.dumps(document), encoding="utf-8")
    found = job_status(answer(job_command(site, "qwen-abcde")))
    assert (found.outcome, found.ray_cluster) == ("running", "qwen-abcde-x1y2z")
    (cluster / "status").write_text("", encoding="utf-8")
    assert answer(job_command(site, "qwen-abcde")) == {}
    (cluster / "status").write_text("<html>", encoding="utf-8")
    with pytest.raises(OutsideError, match="no JSON"):
        answer(job_command(site, "qwen-abcde"))


def test_without_kubectl_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, site: KubernetesSite) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OutsideError, match="not on PATH"):
        ran(job_command(site, "x"))


def test_commands_name_the_context_the_namespace_and_the_run(site: KubernetesSite) -> None:
    named = site.model_copy(update={"context": "my cluster"})
    assert kubectl(named, "get")[:5] == ("kubectl", "--context", "my cluster", "--namespace", "training")
    assert log_command(site, "j")[-1] == "job/j"
    assert exec_command(site, "p", "tar", "x")[-6:] == ("p", "-c", "ray", "--", "tar", "x")
    assert "rayjobs.ray.io/j" in delete_command(site, "j")


def test_a_job_is_ours_by_its_mark_alone() -> None:
    document = {"metadata": {"name": "x", "managedFields": [{"manager": "ray-operator"}, {"manager": "mark"}]}}
    assert is_marked(document, "mark")
    assert not is_marked(document, "another")
    assert not is_marked({"metadata": {"name": "x"}}, "mark")


def test_how_a_job_ended_in_one_word() -> None:
    assert _status(jobStatus="SUCCEEDED", reason="x").ended_as == "SUCCEEDED"
    assert _status(jobStatus="STOPPED", jobDeploymentStatus="Complete").ended_as == "STOPPED"
    given_up = _status(jobStatus="RUNNING", jobDeploymentStatus="Failed", reason="DeadlineExceeded")
    assert given_up.ended_as == "FAILED (DeadlineExceeded)"


def test_pods_that_wait_say_why() -> None:
    def pod(name: str, kind: str, **status: object) -> dict[str, object]:
        return {"metadata": {"name": name, "labels": {"ray.io/node-type": kind}}, "status": status}

    unscheduled = [{"type": "PodScheduled", "status": "False", "message": "0/4 nodes are available"}]
    waiting = [{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}}]
    found = pods(
        {"items": [pod("a", "worker", phase="Pending", conditions=unscheduled), pod("b", "head", phase="Running")]}
    )
    assert [one.name for one in found] == ["b", "a"]
    assert pods_words(found, 16) == "1 of 16 pods run; 0/4 nodes are available"
    assert pods({"items": [pod("a", "head", containerStatuses=waiting)]})[0].why == "ImagePullBackOff: not found"
    assert pods({}) == ()
