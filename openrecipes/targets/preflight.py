"""What a node must hold before a recipe spends GPUs on it: the words that the preflight is asked with, its answer."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from openrecipes.catalog.gpus import find_gpu
from openrecipes.layouts.degrees import nodes
from openrecipes.problems import OutsideError, Place, Problem
from openrecipes.recipe.model import Recipe
from openrecipes.shipped import shipped
from openrecipes.targets.profile import Profile
from openrecipes.targets.target import RenderedFile
from openrecipes.targets.templates import program

PROGRAM: Final = "preflight.py"
VERDICT: Final = "preflight_verdict.py"
_FILES: Final = (PROGRAM, "preflight_gpus.py", "preflight_asking.py", VERDICT)
# Longest time that one node's checks may take; hashing the rows of a published recipe takes below a second.
_LIMIT_S: Final = 600
# The stack's words, and the distributions whose version they start with.
_PINS: Final = {"pytorch": "torch", "transformer_engine": "transformer-engine", "deepep": "deep-ep"}

_MENDS: Final = {
    "gpu": "leave the node out (--exclude, cordon) until it is repaired or freed",
    "nvlink": "reset the node's GPUs and its fabric manager, or leave the node out",
    "pcie": "leave the node out and have it looked at",
    "kernel": "reset or replace the node, and leave it out until then",
    "fabric": "wait for the devices, or leave the node out; the profile says how many there must be",
    "efa": "mend the image's EFA libraries or the node's driver: NCCL would fall back to TCP without a word",
    "memlock": "raise the memlock limit of the daemon that starts the job, or add IPC_LOCK",
    "version": "use the recipe's image, or state the difference in the recipe's stack",
    "checkpoint": "prepare it with `openrecipes checkpoint prepare`, or name the right folder in the profile's paths",
    "file": "copy the recipe's rows there, or name the right file in the profile's paths",
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


def preflight_words(profile: Profile, recipe: Recipe | None = None, *, sft_data: str | None = None) -> tuple[str, ...]:
    """The options that a node's preflight is asked with; without a recipe, what the profile alone says."""
    words = list(_fabric_words(profile))
    if recipe is not None:
        words += _gpu_words(recipe)
        if recipe.trainer == "smoke":
            words += ["--nofile", "1024", "--shm-gib", "0"]
        else:
            words += _slime_words(profile, recipe, sft_data)
    elif profile.target == "local":
        words += ["--shm-gib", "0", "--nofile", "1024"]
    return tuple(words)


def _fabric_words(profile: Profile) -> Iterator[str]:
    if profile.fabric is not None:
        yield from ("--fabric", profile.fabric.kind, "--devices", str(profile.fabric.devices_per_node))
    if profile.kubernetes is not None and profile.kubernetes.hugepages_2mi is not None:
        yield from ("--hugepages", "1")


def _gpu_words(recipe: Recipe) -> Iterator[str]:
    card = find_gpu(recipe.gpu.type)
    if card is None or card.kind == "cpu":
        yield from ("--gpus", "0")
        return
    yield from ("--gpus", str(recipe.gpu.per_node), "--gpu", recipe.gpu.type)
    if card.memory_mib is not None:
        yield from ("--memory-mib", str(card.memory_mib.value))
    links = re.search(r"NVLink.*?(\d+) links", card.interconnect.value) if card.interconnect else None
    if links and recipe.gpu.per_node > 1:
        yield from ("--nvlinks", links[1])


def _slime_words(profile: Profile, recipe: Recipe, sft_data: str | None) -> Iterator[str]:
    for key, distribution in _PINS.items():
        version = re.match(r"\d+(?:\.\d+)+", getattr(recipe.stack, key) or "")
        if version:
            yield from ("--pin", f"{distribution}={version[0]}")
    rows, wanted = sft_data or profile.paths.sft_data, recipe.workload.dataset.build.parquet_sha256
    if rows:
        yield from ("--file", f"{rows}={wanted}" if wanted else rows)
    if profile.paths.torch_dist:
        yield from ("--checkpoint", profile.paths.torch_dist)


def preflight_here(words: Sequence[str], python: str = "python3") -> dict[str, Any]:
    """This machine's report, by the job's interpreter. Raises: OutsideError if the program gives none."""
    # A bare python3 of a local job is the interpreter that runs us, which the launch puts first on PATH.
    command = [sys.executable if python == "python3" else python, str(shipped("launch", PROGRAM)), "--report-only"]
    return _json_of([*command, *words], "preflight")


def verdict(found: Sequence[dict[str, Any]], *, wanted: int) -> Verdict:
    """What the nodes' reports come to together: failed checks, missing nodes, and nodes that differ."""
    with tempfile.TemporaryDirectory(prefix="openrecipes-") as folder:
        for number, node in enumerate(found):
            (Path(folder) / f"{number}.json").write_text(json.dumps(node), encoding="utf-8")
        command = [sys.executable, str(shipped("launch", VERDICT)), folder, "--nodes", str(wanted)]
        document = _json_of(command, "preflight-verdict", statuses=(0, 1))
    return Verdict(
        nodes=tuple(document["nodes"]), problems=tuple(_problem(problem) for problem in document["problems"])
    )


def nodes_wanted(recipe: Recipe | None) -> int:
    """Nodes that must report."""
    return 1 if recipe is None else nodes(recipe.gpu.count, recipe.gpu.per_node)


def _problem(found: dict[str, str]) -> Problem:
    kind = re.split(r"[ -]", found["check"])[0]
    key = ".".join(part for part in (found["host"], found["check"]) if part)
    mend = _MENDS.get(found["check"]) or _MENDS.get(kind) or "mend it on the node, or leave the node out"
    return Problem(
        place=Place(key=key),
        rule=f"preflight-{kind}",
        what=found["why"] or found["status"],
        mend=mend,
        severity="warning" if found["status"] == "warn" else "error",
    )


def _json_of(command: Sequence[str], rule: str, statuses: tuple[int, ...] = (0,)) -> dict[str, Any]:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT_S)
        failed = None if ran.returncode in statuses else ran.stderr.strip()[-500:] or f"exit status {ran.returncode}"
        document = json.loads(ran.stdout) if failed is None else {}
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        failed = str(error)[:500]
    if failed is not None:
        raise OutsideError(Problem(place=Place(), rule=rule, what=failed, mend="run it by hand to see why"))
    return dict(document)
