"""Talking to a Kubernetes cluster: which kubectl commands, and the one place that runs them."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final

from openrecipes.problems import OutsideError, Place, Problem
from openrecipes.targets.kubernetes import CONFIG, JOB, MANAGED_BY
from openrecipes.targets.kubernetes_site import KubernetesSite

# Of one question to the API server, and of kubectl as a whole.
_REQUEST_S: Final = 30
_LIMIT_S: Final = 120
# Of a command in a pod that brings files here.
COPY_S: Final = 1800
RULE: Final = "kubectl"
MISSING: Final = "kubectl-installed"


def kubectl(site: KubernetesSite, *words: str) -> tuple[str, ...]:
    """A kubectl command in the cluster and namespace of the profile."""
    context = () if site.context is None else ("--context", site.context)
    return ("kubectl", *context, "--namespace", site.namespace, *words)


def pinned(site: KubernetesSite) -> KubernetesSite:
    """The site with the context that kubectl takes now: another one chosen meanwhile would be another cluster."""
    if site.context is not None:
        return site
    try:
        context = ran(("kubectl", "config", "current-context")).strip()
    except OutsideError:
        return site  # in a pod, kubectl needs none
    return site.model_copy(update={"context": context or None})


def create_config_command(site: KubernetesSite, rendered: Path) -> tuple[str, ...]:
    """Creates the ConfigMap. Not `apply`, whose copy of it in an annotation may have 256 KiB."""
    return kubectl(site, "create", "-f", str(rendered / CONFIG))


def create_job_command(site: KubernetesSite, rendered: Path, marker: str) -> tuple[str, ...]:
    """Creates the RayJob; prints `rayjob.ray.io/NAME`, with the name that the API server gave.

    The marker becomes the name of its field manager: equal bytes of two launches are told apart by it.
    """
    return kubectl(site, "create", "-f", str(rendered / JOB), f"--field-manager={marker}", "-o", "name")


def job_command(site: KubernetesSite, name: str) -> tuple[str, ...]:
    """Prints the RayJob as JSON, with who manages its fields; nothing where there is none."""
    return _get(site, f"rayjobs.ray.io/{name}", "--ignore-not-found", "--show-managed-fields")


def jobs_command(site: KubernetesSite) -> tuple[str, ...]:
    """Prints all RayJobs of ours as JSON, with who manages their fields."""
    return _get(site, "rayjobs.ray.io", "-l", f"{MANAGED_BY[0]}={MANAGED_BY[1]}", "--show-managed-fields")


def config_command(site: KubernetesSite, name: str) -> tuple[str, ...]:
    """Prints a ConfigMap as JSON."""
    return _get(site, f"configmap/{name}")


def pods_command(site: KubernetesSite, ray_cluster: str) -> tuple[str, ...]:
    """Prints the pods of a RayCluster as JSON."""
    return _get(site, "pods", "-l", f"ray.io/cluster={ray_cluster}")


def own_command(site: KubernetesSite, config: str, job: str, uid: str) -> tuple[str, ...]:
    """Lets a ConfigMap go with the RayJobs that use it."""
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": job, "uid": uid}
    patch = json.dumps({"metadata": {"ownerReferences": [owner]}})
    return kubectl(site, "patch", f"configmap/{config}", "--type=strategic", "-p", patch)


def log_command(site: KubernetesSite, name: str) -> tuple[str, ...]:
    """Prints the log of the job's submitter; its Job has the RayJob's name."""
    return kubectl(site, "logs", f"job/{name}")


def exec_command(site: KubernetesSite, pod: str, *words: str) -> tuple[str, ...]:
    """Runs a command in a pod's Ray container."""
    return kubectl(site, "exec", pod, "-c", "ray", "--", *words)


def delete_command(site: KubernetesSite, name: str) -> tuple[str, ...]:
    """Ends the run and its cluster; what it wrote to the shared volume stays."""
    return kubectl(site, "delete", f"rayjobs.ray.io/{name}", "--ignore-not-found", "--wait=false")


def answer(command: Sequence[str]) -> dict[str, Any]:
    """The JSON object that a command prints; an empty one for nothing. Raises: OutsideError."""
    text = ran(command)
    try:
        document = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise _outside(f"kubectl printed no JSON but {text[:200]}", "run it by hand to see why") from error
    return document if isinstance(document, dict) else {}


def ran(command: Sequence[str]) -> str:
    """What a command prints. Raises: OutsideError with its own words where it fails."""
    done = _done(command, stdout=subprocess.PIPE, limit_s=_LIMIT_S)
    return (done.stdout or b"").decode(errors="replace")


def ran_into(command: Sequence[str], out: IO[bytes], *, limit_s: float = _LIMIT_S) -> None:
    """Writes what a command prints to a file. Raises: OutsideError with its own words where it fails."""
    _done(command, stdout=out, limit_s=limit_s)


def words_of(error: OutsideError) -> str:
    """What kubectl said, in one line."""
    return "; ".join(problem.what for problem in error.problems)


def _get(site: KubernetesSite, *words: str) -> tuple[str, ...]:
    return kubectl(site, "get", *words, "-o", "json", f"--request-timeout={_REQUEST_S}s")


def _done(command: Sequence[str], *, stdout: int | IO[bytes], limit_s: float) -> "subprocess.CompletedProcess[bytes]":
    try:
        done = subprocess.run(
            command,
            stdout=stdout,
            stderr=subprocess.PIPE,
            check=False,
            timeout=limit_s,
            stdin=subprocess.DEVNULL,
            # A Ctrl-C in the terminal is ours to answer: kubectl would end half-way.
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise _outside("kubectl is not on PATH", "install kubectl, and log in to the cluster", MISSING) from error
    except subprocess.TimeoutExpired as error:
        raise _outside(f"kubectl gave no answer within {limit_s:g} s", "see whether the cluster is reached") from error
    if done.returncode != 0:
        said = " ".join(done.stderr.decode(errors="replace").split())[-500:] or f"exit status {done.returncode}"
        raise _outside(said, f"see what the cluster says: {' '.join(command[:6])} …")
    return done


def _outside(what: str, mend: str, rule: str = RULE) -> OutsideError:
    return OutsideError(Problem(place=Place(), rule=rule, what=what, mend=mend))
