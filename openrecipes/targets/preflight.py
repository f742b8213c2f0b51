"""What nodes must hold before a recipe spends GPUs on them: the programs, this machine's answer, the verdict."""

import json
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from openrecipes.layouts.degrees import nodes
from openrecipes.problems import OutsideError, Place, Problem
from openrecipes.recipe.model import Recipe
from openrecipes.shipped import shipped
from openrecipes.targets.profile import THIS_MACHINE, Profile
from openrecipes.targets.target import RenderedFile
from openrecipes.targets.templates import program

PROGRAM: Final = "preflight.py"
VERDICT: Final = "preflight_verdict.py"
_FILES: Final = (
    PROGRAM,
    "preflight_asking.py",
    "preflight_files.py",
    "preflight_gpus.py",
    "preflight_host.py",
    "preflight_load.py",
    "preflight_stack.py",
    VERDICT,
    "preflight_between.py",
    "verify_rows.py",
)
# Longest time that one node's checks may take; hashing the rows of a published recipe takes below a second.
_LIMIT_S: Final = 600

_MENDS: Final = {
    "gpu": "leave the node out (--exclude, cordon) until it is repaired or freed",
    "nvlink": "reset the node's GPUs and its fabric manager, or leave the node out",
    "pcie": "leave the node out and have it looked at",
    "kernel": "reset or replace the node, and leave it out until then",
    "fabric": "wait for the devices, or leave the node out; the profile says how many there must be",
    "efa": "mend the image's EFA libraries or the node's driver: NCCL would fall back to TCP without a word",
    "memlock": "raise the memlock limit of the daemon that starts the job, or add IPC_LOCK",
    "version": "use the recipe's image, or state the difference in the recipe's stack",
    "commit": "check out the recipe's commit there, or state the difference in the recipe's stack",
    "python": "name an interpreter that every node has, or put this one there",
    "image": "start all nodes from one image, by its digest",
    "nccl": "put the aws-ofi-nccl plugin's folder on LD_LIBRARY_PATH, or use an image that has it",
    "tokenizer": "put the recipe's tokenizer.json there, or take the warning: rows are tokenized already",
    "rows": "copy the recipe's rows there, or name the right file in the profile's paths",
    "disk": "free space there, or name another folder in the profile",
    "ports": "end what listens there if it is yours",
    "cpu": "ask for more CPUs of the node in the profile, or let Ray count fewer",
    "memory": "leave the node out until its memory is free",
    "clock": "start chrony or ntpd on the node, or leave it out",
    "network": "give all nodes the same interface and MTU",
    "ssh": "log in there by hand; mend the name or the key, or take the host out of the profile's ssh.hosts",
    "reach": "open every port between the nodes to themselves (security group, firewall)",
    "all": "leave the slow node out; look for `Using network` in NCCL_DEBUG=INFO of both",
    "alltoall": "leave the slow group's nodes out one by one",
    "checkpoint": "prepare it with `openrecipes checkpoint prepare`, or name the right folder in the profile's paths",
    "file": "copy the recipe's rows there, or name the right file in the profile's paths",
    "nofile": "raise the nofile limit of the daemon that starts the job",
    "shared": "give the container a larger /dev/shm",
    "hugepages": "reserve 2 MiB pages on the node, or set FI_EFA_USE_HUGE_PAGE to 0 and ask for none",
    "driver": "leave the node out until its driver is that of the others, and new enough for the image's CUDA",
    "environment": "look at what each node's shell evaluates: the values must agree",
    "port": "end what listens there if it is yours, or take another port",
    "nodes": "see the logs of the nodes that are missing",
    "leftovers": "end them if they are yours",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Every node's report, and what stands against a start."""

    nodes: tuple[dict[str, Any], ...]
    problems: tuple[Problem, ...]

    def document(self) -> dict[str, Any]:
        """The same as plain data, for JSON."""
        return {"nodes": list(self.nodes), "problems": [problem.document() for problem in self.problems]}


def preflight_files() -> tuple[RenderedFile, ...]:
    """The programs that a launch carries to its nodes."""
    return tuple(RenderedFile(path=name, text=program(name)) for name in _FILES)


def preflight_here(words: Sequence[str], python: str = "python3") -> dict[str, Any]:
    """This machine's report, by the job's interpreter; that it cannot be run is a failed check.

    Raises: OutsideError if the program gives none by the interpreter that runs us.
    """
    # A bare python3 of a local job is the interpreter that runs us, which the launch puts first on PATH.
    ours = python == "python3"
    command = [sys.executable if ours else python, str(shipped("launch", PROGRAM)), "--report-only"]
    try:
        return _json_of([*command, *words], "preflight")
    except OutsideError as error:
        if ours:
            raise
        return without_python(platform.node(), python, error.problems[0].what.removeprefix(f"{python} "))


def without_python(host: str, python: str, why: str) -> dict[str, Any]:
    """The report of a node whose interpreter cannot give one."""
    check = {"name": "python", "status": "fail", "value": python, "why": f"{python} {why}"}
    return {"schema_version": 1, "host": host, "ok": False, "checks": [check]}


def verdict(found: Sequence[dict[str, Any]], *, wanted: int, profile: Profile = THIS_MACHINE) -> Verdict:
    """What the nodes' reports come to together: failed checks, missing nodes, and nodes that differ.

    What a key of the profile alone decides is placed there, the profile named by its title.
    """
    with tempfile.TemporaryDirectory(prefix="openrecipes-") as folder:
        for number, node in enumerate(found):
            (Path(folder) / f"{number:06}.json").write_text(json.dumps(node), encoding="utf-8")
        command = [sys.executable, str(shipped("launch", VERDICT)), folder, "--nodes", str(wanted)]
        document = _json_of(command, "preflight-verdict", statuses=(0, 1))
    return Verdict(
        nodes=tuple(document["nodes"]), problems=tuple(_problem(problem, profile) for problem in document["problems"])
    )


def nodes_wanted(recipe: Recipe | None) -> int:
    """Nodes that must report."""
    return 1 if recipe is None else nodes(recipe.gpu.count, recipe.gpu.per_node)


def _problem(found: dict[str, str], profile: Profile) -> Problem:
    kind, what = re.split(r"[ -]", found["check"])[0], found["why"] or found["status"]
    place = Place(key=".".join(part for part in (found["host"], found["check"]) if part))
    if kind == "python":
        place, what = Place(file=profile.title, key="python"), f"{what}, on the node {found['host']}"
    mend = _MENDS.get(found["check"]) or _MENDS.get(kind) or "mend it on the node, or leave the node out"
    return Problem(
        place=place,
        rule=f"preflight-{kind}",
        what=what,
        mend=mend,
        severity="warning" if found["status"] == "warn" else "error",
    )


def _json_of(command: Sequence[str], rule: str, statuses: tuple[int, ...] = (0,)) -> dict[str, Any]:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT_S)
        failed = None if ran.returncode in statuses else ran.stderr.strip()[-500:] or f"exit status {ran.returncode}"
        document = json.loads(ran.stdout) if failed is None else {}
    except OSError as error:
        failed = f"{command[0]} cannot be started: {error.strerror}"
    except (ValueError, subprocess.TimeoutExpired) as error:
        failed = str(error)[:500]
    if failed is not None:
        raise OutsideError(Problem(place=Place(), rule=rule, what=failed, mend="run it by hand to see why"))
    return dict(document)
