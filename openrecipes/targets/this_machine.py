"""What this machine has, and why it cannot run a recipe."""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from openrecipes.problems import Place, Problem
from openrecipes.recipe.model import Recipe
from openrecipes.stack import capture
from openrecipes.targets.profile import THIS_MACHINE, Profile
from openrecipes.targets.target import Launch

_SMOKE_NEEDS = ("torch", "transformers")


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """The GPUs that a job here would see, by product name, and the CPUs that it may use.

    `unknown` is what nvidia-smi said where it could not list the GPUs. `modules` are those that our own
    interpreter has, of those that the smoke trainer needs.
    """

    gpus: tuple[str, ...]
    cpus: int
    unknown: str | None = None
    modules: frozenset[str] = field(default_factory=frozenset)

    @property
    def words(self) -> str:
        """`2 x NVIDIA H200, 16 CPUs`, `no GPU, 2 CPUs`."""
        counts = {name: self.gpus.count(name) for name in dict.fromkeys(self.gpus)}
        cards = ", ".join(f"{count} x {name}" for name, count in counts.items())
        return f"{cards or self.unknown or 'no GPU'}, {self.cpus} CPU{'' if self.cpus == 1 else 's'}"


def this_machine(environment: Mapping[str, str] = os.environ) -> Machine:
    """This machine as it is now."""
    errors: dict[str, str] = {}
    names = [str(card["name"]) for card in capture.gpus(errors)]
    return Machine(
        gpus=tuple(_visible(names, environment.get("CUDA_VISIBLE_DEVICES"))),
        cpus=capture.processors()["available"] or 1,
        unknown=f"GPUs unknown: nvidia-smi failed ({errors['nvidia-smi']})" if errors else None,
        modules=frozenset(name for name in _SMOKE_NEEDS if find_spec(name) is not None),
    )


def machine_refusals(launch: Launch, machine: Machine) -> Iterator[Problem]:
    """Why this machine cannot run it: an error each; a warning where it will only be slow."""
    yield from _gpus(launch.recipe, machine)
    missing = [name for name in _SMOKE_NEEDS if name not in machine.modules]
    runs_in_ours = launch.profile.python == THIS_MACHINE.python
    if launch.recipe.trainer == "smoke" and runs_in_ours and missing:
        yield Problem(
            place=Place(key="trainer"),
            rule="target-trainer",
            what=f"the smoke trainer needs {' and '.join(missing)}, not installed here",
            mend="install the extra: pip install 'openrecipes[smoke]'",
        )


def python_refusals(profile: Profile) -> Iterator[Problem]:
    """An interpreter of the job that is not on this machine; one in a container is not looked for."""
    # A launch puts our own python3 first on PATH.
    named = profile.python != THIS_MACHINE.python and profile.container is None
    if named and shutil.which(profile.python) is None:
        yield Problem(
            place=Place(file=profile.title, key="python"),
            rule="target-python",
            what=f"{profile.python} is no program that can be started here",
            mend="name the job's interpreter, one that has what the trainer needs",
        )


def _gpus(recipe: Recipe, machine: Machine) -> Iterator[Problem]:
    wanted = recipe.gpu
    if wanted.type == "CPU":
        if wanted.count > machine.cpus:
            what = f"{wanted.count} ranks on {machine.cpus} CPUs share them, and will be slow"
            mend = "set gpu.count to the CPUs there are, or wait longer"
            yield Problem(place=Place(key="gpu.count"), rule="target-cpus", what=what, mend=mend, severity="warning")
        return
    of_type = [name for name in machine.gpus if re.search(rf"\b{re.escape(wanted.type)}\b", name)]
    if len(of_type) < wanted.count:
        mend = f"run it where there are {wanted.count} x {wanted.type}, or run a recipe made for what is here"
        what = f"{wanted.count} x {wanted.type} needed, but this machine has {machine.words}"
        yield Problem(place=Place(key="gpu.count"), rule="target-gpus", what=what, mend=mend)


def _visible(names: list[str], devices: str | None) -> list[str]:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves: by index, as CUDA counts, up to the first that is none."""
    if devices is None:
        return names
    left: list[str] = []
    for word in devices.split(","):
        device = word.strip()
        if device.startswith(("GPU-", "MIG-")):
            left.append(names[0] if names else device)
        elif device.isdecimal() and int(device) < len(names):
            left.append(names[int(device)])
        else:
            break
    return left
