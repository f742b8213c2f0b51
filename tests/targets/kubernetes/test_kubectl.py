"""kubectl is asked the right things, and only a job that succeeded has succeeded."""

import json
import os
from pathlib import Path

import pytest
from rayjobs import launch, profile

from openrecipes.problems import OutsideError
from openrecipes.targets.kubectl import (
    JobStatus,
    collect_command,
    create,
    delete_command,
    head_command,
    job_status,
    kubectl,
    log_command,
    status,
)
from openrecipes.targets.kubernetes import KubernetesTarget
from openrecipes.targets.kubernetes_site import KubernetesSite
from openrecipes.targets.submit import write_rendered

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


def test_a_launch_creates_the_config_first_and_learns_the_jobs_name(cluster: Path, site: KubernetesSite) -> None:
    rendered = KubernetesTarget().render(launch())
    write_rendered(rendered, cluster / "rendered")
    assert create(site, cluster / "rendered") == "qwen-abcde"
    asked = (cluster / "asked").read_text(encoding="utf-8").splitlines()
    assert asked == [
        f"--namespace training apply -f {cluster}/rendered/configmap.yaml",
        f"--namespace training create -f {cluster}/rendered/rayjob.yaml -o name",
    ]


def test_a_refusal_of_the_cluster_is_said_in_its_words(cluster: Path, site: KubernetesSite) -> None:
    (cluster / "refuses").touch()
    with pytest.raises(OutsideError, match="admission webhook denied"):
        create(site, cluster)


def test_a_status_is_read_from_the_cluster(cluster: Path, site: KubernetesSite) -> None:
    document = {"status": {"jobStatus": "RUNNING", "rayClusterName": "qwen-abcde-x1y2z"}}
    (cluster / "status").write_text(json.dumps(document), encoding="utf-8")
    found = status(site, "qwen-abcde")
    assert (found.outcome, found.ray_cluster) == ("running", "qwen-abcde-x1y2z")


def test_without_kubectl_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, site: KubernetesSite) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OutsideError, match="not on PATH"):
        status(site, "x")


def test_commands_name_the_context_the_namespace_and_the_run(site: KubernetesSite) -> None:
    named = site.model_copy(update={"context": "my cluster"})
    assert kubectl(named, "get")[:5] == ("kubectl", "--context", "my cluster", "--namespace", "training")
    assert log_command(site, "j")[-1] == "job/j"
    assert "ray.io/cluster=c,ray.io/node-type=head" in head_command(site, "c")
    assert collect_command(site, "p", "/fsx/runs/c")[-6:] == ("tar", "-C", "/fsx/runs/c", "-cf", "-", ".")
    assert "rayjobs.ray.io/j" in delete_command(site, "j")
