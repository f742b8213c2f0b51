"""Talking to a Kubernetes cluster: which kubectl commands, and the one place that runs them."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from openrecipes.problems import OutsideError, Place, Problem
from openrecipes.targets.kubernetes import CONFIG, JOB
from openrecipes.targets.kubernetes_site import KubernetesSite

_LIMIT_S: Final = 120
_ENDED: Final = ("SUCCEEDED", "FAILED", "STOPPED")


@dataclass(frozen=True, kw_only=True, slots=True)
class JobStatus:
    """What a RayJob says of itself; each part is empty until KubeRay writes it."""

    job: str
    deployment: str
    reason: str
    message: str
    ray_cluster: str

    @property
    def outcome(self) -> Literal["waiting", "running", "succeeded", "failed"]:
        """How it stands. Only a job that SUCCEEDED did: a stopped one also ends as `Complete`."""
        if self.job == "SUCCEEDED":
            return "succeeded"
        if self.job in _ENDED or self.deployment in ("Failed", "ValidationFailed", "Complete"):
            return "failed"
        return "running" if self.job == "RUNNING" else "waiting"

    @property
    def words(self) -> str:
        """`FAILED (AppFailed): entrypoint command failed with exit code 7`."""
        state = self.job or self.deployment or "not yet seen by KubeRay"
        return "".join((state, f" ({self.reason})" if self.reason else "", f": {self.message}" if self.message else ""))


def kubectl(site: KubernetesSite, *words: str) -> tuple[str, ...]:
    """A kubectl command in the cluster and namespace of the profile."""
    context = () if site.context is None else ("--context", site.context)
    return ("kubectl", *context, "--namespace", site.namespace, *words)


def create_config_command(site: KubernetesSite, rendered: Path) -> tuple[str, ...]:
    """Creates the ConfigMap, or finds it: its name holds its content's hash, so one that is there is the same."""
    return kubectl(site, "apply", "-f", str(rendered / CONFIG))


def create_job_command(site: KubernetesSite, rendered: Path) -> tuple[str, ...]:
    """Creates the RayJob; prints `rayjob.ray.io/NAME`, with the name that the API server gave."""
    return kubectl(site, "create", "-f", str(rendered / JOB), "-o", "name")


def status_command(site: KubernetesSite, name: str) -> tuple[str, ...]:
    """Prints the RayJob as JSON."""
    return kubectl(site, "get", f"rayjobs.ray.io/{name}", "-o", "json")


def log_command(site: KubernetesSite, name: str) -> tuple[str, ...]:
    """Follows the job's log, from its first line; the submitter's Job has the RayJob's name."""
    return kubectl(site, "logs", "--follow", "--pod-running-timeout=60s", f"job/{name}")


def head_command(site: KubernetesSite, ray_cluster: str) -> tuple[str, ...]:
    """Prints the head pod's name."""
    labels = f"ray.io/cluster={ray_cluster},ray.io/node-type=head"
    return kubectl(site, "get", "pods", "-l", labels, "-o", "jsonpath={.items[0].metadata.name}")


def collect_command(site: KubernetesSite, pod: str, run_dir: str) -> tuple[str, ...]:
    """Writes the run's directory as a tar to stdout; works while the pods stay, and from any that mounts it."""
    return kubectl(site, "exec", pod, "-c", "ray", "--", "tar", "-C", run_dir, "-cf", "-", ".")


def delete_command(site: KubernetesSite, name: str) -> tuple[str, ...]:
    """Ends the run and its cluster; what it wrote to the shared volume stays."""
    return kubectl(site, "delete", f"rayjobs.ray.io/{name}", "--wait=false")


def create(site: KubernetesSite, rendered: Path) -> str:
    """The new RayJob's name, its files and itself created. Raises: OutsideError with kubectl's own words."""
    ran(create_config_command(site, rendered))
    return ran(create_job_command(site, rendered)).strip().rpartition("/")[2]


def status(site: KubernetesSite, name: str) -> JobStatus:
    """Where a RayJob stands. Raises: OutsideError with kubectl's own words."""
    return job_status(json.loads(ran(status_command(site, name))))


def job_status(document: dict[str, Any]) -> JobStatus:
    """The status in a RayJob's document."""
    found = document.get("status") or {}
    names = ("jobStatus", "jobDeploymentStatus", "reason", "message", "rayClusterName")
    job, deployment, reason, message, ray_cluster = (str(found.get(name) or "") for name in names)
    return JobStatus(job=job, deployment=deployment, reason=reason, message=message, ray_cluster=ray_cluster)


def ran(command: Sequence[str]) -> str:
    """What a command prints. Raises: OutsideError with its own words where it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_LIMIT_S, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError as error:
        raise _outside("kubectl is not on PATH", "install kubectl, and log in to the cluster") from error
    except subprocess.TimeoutExpired as error:
        raise _outside(f"kubectl gave no answer within {_LIMIT_S} s", "see whether the cluster is reached") from error
    if done.returncode != 0:
        words = " ".join(done.stderr.split())[-500:] or f"exit status {done.returncode}"
        raise _outside(words, f"see what the cluster says: {' '.join(command[:6])} …")
    return done.stdout


def _outside(what: str, mend: str) -> OutsideError:
    return OutsideError(Problem(place=Place(), rule="kubectl", what=what, mend=mend))
