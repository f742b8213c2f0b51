"""What a RayJob and its pods say of themselves."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

_ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


@dataclass(frozen=True, kw_only=True, slots=True)
class JobStatus:
    """What a RayJob says of itself; each part but the name is empty until KubeRay writes it."""

    name: str
    uid: str
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

    @property
    def ended_as(self) -> str:
        """`SUCCEEDED`, `FAILED (AppFailed)`; a run that KubeRay gave up has failed, whatever its job says."""
        word = self.job if self.job in _ENDED else "FAILED"
        return f"{word} ({self.reason})" if self.reason and word != "SUCCEEDED" else word


@dataclass(frozen=True, kw_only=True, slots=True)
class Pod:
    """A pod of the run: whether it is the head, its phase, and what keeps it waiting."""

    name: str
    is_head: bool
    phase: str
    why: str

    @property
    def runs(self) -> bool:
        """Whether a command can be run in it."""
        return self.phase == "Running"


def job_status(document: dict[str, Any]) -> JobStatus:
    """The status in a RayJob's document."""
    found, metadata = document.get("status") or {}, document.get("metadata") or {}
    names = ("jobStatus", "jobDeploymentStatus", "reason", "message", "rayClusterName")
    job, deployment, reason, message, ray_cluster = (str(found.get(name) or "") for name in names)
    return JobStatus(
        name=str(metadata.get("name") or ""),
        uid=str(metadata.get("uid") or ""),
        job=job,
        deployment=deployment,
        reason=reason,
        message=message,
        ray_cluster=ray_cluster,
    )


def is_marked(document: dict[str, Any], marker: str) -> bool:
    """Whether the RayJob was created under this name of a field manager."""
    managers = (document.get("metadata") or {}).get("managedFields") or []
    return any(isinstance(one, dict) and one.get("manager") == marker for one in managers)


def pods(document: dict[str, Any]) -> tuple[Pod, ...]:
    """The pods in a list, the head first."""
    found = (_pod(item) for item in document.get("items") or [] if isinstance(item, dict))
    return tuple(sorted(found, key=lambda pod: (not pod.is_head, pod.name)))


def pods_words(found: tuple[Pod, ...], wanted: int) -> str:
    """`3 of 16 pods run; 0/20 nodes are available: 16 Insufficient nvidia.com/gpu`."""
    waits = next((pod.why for pod in found if not pod.runs and pod.why), "")
    return f"{sum(pod.runs for pod in found)} of {wanted} pods run" + (f"; {waits}" if waits else "")


def _pod(item: dict[str, Any]) -> Pod:
    metadata, status = item.get("metadata") or {}, item.get("status") or {}
    return Pod(
        name=str(metadata.get("name") or ""),
        is_head=(metadata.get("labels") or {}).get("ray.io/node-type") == "head",
        phase=str(status.get("phase") or ""),
        why=next(_why(status), "")[:300],
    )


def _why(status: dict[str, Any]) -> Iterator[str]:
    """What keeps a pod from running: the scheduler's word, then that of its containers."""
    for condition in status.get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            yield str(condition.get("message") or condition.get("reason") or "")
    for container in status.get("containerStatuses") or []:
        for state in ("waiting", "terminated"):
            said = (container.get("state") or {}).get(state)
            if said:
                yield ": ".join(str(said[key]) for key in ("reason", "message") if said.get(key)) or json.dumps(said)
