"""How to run a recipe on each target, as commands."""

import re
import shlex
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from openrecipes.recipe.model import Recipe
from openrecipes.shipped import shipped

# Target, where that is in words, and how its example profiles in launch/clusters/ begin.
_TARGETS: Final = (
    ("ssh", "Hosts that you reach by ssh", "ssh"),
    ("slurm", "Slurm", "slurm"),
    ("kubernetes", "Kubernetes", "eks"),
)
_ONE_NODE: Final = "one-node"


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """One way to run a recipe: where, and the commands."""

    where: str
    commands: str


def ways(recipe: Recipe, name: str) -> tuple[Way, ...]:
    """The ways to run the recipe of this short name; on this machine only where its GPUs are one node's."""
    word = shlex.quote(name)
    if recipe.trainer == "smoke":
        return (Way(where="This machine", commands=f"openrecipes run {word}"),)
    here = Way(where="This machine", commands=_commands(word, "local", _profile(_ONE_NODE)))
    instance = re.fullmatch(r"\S+ ([a-z0-9-]{1,40})\.\S+", recipe.gpu.instance or "")
    there = (
        Way(where=where, commands=_commands(word, target, _profile(f"{start}-{instance[1]}" if instance else None)))
        for target, where, start in _TARGETS
    )
    return (*((here,) if recipe.gpu.count <= recipe.gpu.per_node else ()), *there)


def _commands(word: str, target: str, profile: str) -> str:
    return (
        f"openrecipes preflight --cluster {profile} --recipe {word}\n"
        f"openrecipes run {word} --target {target} --cluster {profile} --against published"
    )


@lru_cache(maxsize=256)
def _profile(stem: str | None) -> str:
    """The shipped example profile of this name, else a word that stands for the reader's own."""
    is_shipped = stem is not None and shipped("launch", "clusters", f"{stem}.yaml").is_file()
    return f"launch/clusters/{stem}.yaml" if is_shipped else "CLUSTER.yaml"
