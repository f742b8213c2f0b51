"""What this machine sees of the place where a checkpoint is to lie, before anything is submitted."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from openrecipes import units
from openrecipes.catalog.models import Model
from openrecipes.problems import Place, Problem, ProblemsError
from openrecipes.targets.checkpoint import checkpoint_problems, read_manifest
from openrecipes.targets.preparation import Preparation
from openrecipes.targets.profile import Profile
from openrecipes.targets.this_machine import Machine, python_refusals

_NEVER_OVERWRITTEN = (
    "name another folder under paths.torch_dist, or move this one away: a checkpoint is never overwritten"
)


def is_seen_here(profile: Profile) -> bool:
    """Whether a path of the profile is the same one on this machine: a container has its own, and so have pods."""
    return profile.container is None and profile.target != "kubernetes"


def named_checkpoint(profile: Profile) -> Path:
    """The folder of the profile's checkpoint. Raises: ProblemsError where the profile names none."""
    if profile.paths.torch_dist is None:
        place, what = Place(file=profile.title, key="paths.torch_dist"), "the profile does not say where it is"
        mend = "write paths.torch_dist into the profile"
        raise ProblemsError(Problem(place=place, rule="target-paths", what=what, mend=mend))
    return Path(profile.paths.torch_dist)


def seen_problems(model: Model, profile: Profile, folder: Path) -> tuple[Problem, ...]:
    """What is wrong with the profile's checkpoint; one that this machine does not see is not said to be missing."""
    if (profile.target != "local" or not is_seen_here(profile)) and not os.path.lexists(folder):
        mend = "`openrecipes preflight --cluster FILE --recipe RECIPE` looks on every node, and so does a launch"
        if profile.target == "kubernetes":
            mend = "a launch looks into it in every pod, before it trains"
        place, what = Place(file=profile.title, key="paths.torch_dist"), f"{folder} is not seen from this machine"
        return (Problem(place=place, rule="checkpoint-seen", what=what, mend=mend),)
    return tuple(checkpoint_problems(model, folder))


def is_made(wanted: Preparation) -> bool:
    """Whether the checkpoint is seen from here, whole.

    Raises: ProblemsError where something else has its name, or where it may not be looked at.
    """
    folder, launch = Path(wanted.checkpoint), wanted.ready.launch
    place = Place(file=str(folder), key="paths.torch_dist")
    try:
        if not is_seen_here(launch.profile) or not folder.is_dir() or not any(folder.iterdir()):
            return False
    except OSError as error:
        what, mend = f"cannot be looked into: {error.strerror}", "prepare it as a user who may write there"
        raise ProblemsError(Problem(place=place, rule="checkpoint-readable", what=what, mend=mend)) from error
    said = read_manifest(folder)
    problems = [replace(problem, mend=_NEVER_OVERWRITTEN) for problem in checkpoint_problems(launch.model, folder)]
    if said is None and not problems:
        what = "exists, and nothing in it says whose checkpoint it is"
        problems.append(Problem(place=place, rule="checkpoint-exists", what=what, mend=_NEVER_OVERWRITTEN))
    elif said is not None and said.get("kind") != wanted.kind:
        what = f"exists, and its weights are {str(said.get('kind'))[:40]}, not {wanted.kind}"
        problems.append(Problem(place=place, rule="checkpoint-kind", what=what, mend=_NEVER_OVERWRITTEN))
    if problems:
        raise ProblemsError(*problems)
    return True


def missing_here(wanted: Preparation, machine: Machine) -> Iterator[Problem]:
    """What a preparation on this machine would not find on it, outside of a container: a warning each."""
    profile, gpus = wanted.ready.launch.profile, wanted.conversion.gpus_per_node
    if profile.target != "local" or profile.container is not None:
        return
    for problem in python_refusals(profile):
        yield replace(problem, severity="warning")
    if len(machine.gpus) < gpus:
        what, mend = f"{gpus} needed, but this machine has {machine.words}", "prepare it where they are"
        yield Problem(place=Place(key="--gpus"), rule="target-gpus", what=what, mend=mend, severity="warning")
    for name in ("slime", "megatron", *(("hf_checkpoint",) if wanted.kind == "converted" else ())):
        folder = getattr(profile.paths, name)
        if folder is not None and not Path(folder).is_dir():
            place, what = Place(file=profile.title, key=f"paths.{name}"), f"{folder} is no folder of this machine"
            yield Problem(
                place=place,
                rule="target-paths",
                what=what,
                mend="put it there, or name the folder where it is",
                severity="warning",
            )


def free_here(wanted: Preparation) -> int | None:
    """Bytes free where the checkpoint is to lie; None where this machine does not see the folder above it."""
    if not is_seen_here(wanted.ready.launch.profile):
        return None
    try:
        return shutil.disk_usage(Path(wanted.checkpoint).parent).free
    except OSError:
        return None


def short_of_room(wanted: Preparation) -> Problem | None:
    """Why the disk has not the room; None where it has, or is not seen from here: then its own machine looks."""
    folder = Path(wanted.checkpoint)
    free, needed = free_here(wanted), wanted.need.needed_bytes
    # What an earlier one left there is kept or removed, and so counts as free.
    if free is None or free >= needed or folder.with_name(f"{folder.name}.partial").exists():
        return None
    what = f"the checkpoint needs {units.size(needed)} in {folder.parent}, and {units.size(free)} are free there"
    mend = "free space there, or name a folder with more under paths.torch_dist"
    place = Place(file=wanted.ready.launch.profile.title, key="paths.torch_dist")
    return Problem(place=place, rule="checkpoint-disk", what=what, mend=mend)
