"""The place that a caller names, with what the caller changes of it for one run."""

from collections.abc import Sequence
from pathlib import Path

from openrecipes.cli import output
from openrecipes.problems import UsageError
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.render.located import placed_in
from openrecipes.render.overrides import changed_by
from openrecipes.render.setting_problems import parsed_setting
from openrecipes.targets.profile import THIS_MACHINE, Profile
from openrecipes.targets.read_profile import read_profile
from openrecipes.targets.rendering import target_named
from openrecipes.targets.shipped_profiles import example_for, profile_file


def as_file(cluster: Path | None) -> Path | None:
    """The file of a `--cluster`, where it is the name of a shipped profile; else the word itself, for profile_asked."""
    try:
        return profile_file(cluster) if cluster else None
    except UsageError:
        return cluster


def profile_asked(cluster: Path | None, *, first_step_seconds: int | None = None) -> Profile:
    """The profile in a file, or this machine's, with a longest time to the first step of the caller's own.

    Raises: as profile_file and read_profile.
    """
    profile = read_profile(profile_file(cluster)) if cluster else THIS_MACHINE
    if first_step_seconds is None:
        return profile
    hang = profile.hang.model_copy(update={"first_step_seconds": first_step_seconds})
    return profile.model_copy(update={"hang": hang})


def example_asked(target: str | None, recipe: LocatedRecipe, settings: Sequence[str]) -> Path | None:
    """The shipped profile that a look at a target's files takes where none is named; None where this machine is meant.

    Said on stderr. Raises: as target_named and example_for.
    """
    if target is None or target_named(target).name == THIS_MACHINE.target:
        return None
    with placed_in(recipe):
        changed = changed_by(recipe.recipe, [parsed_setting(text) for text in settings])
    file = example_for(target, changed.recipe)
    output.say(
        f"no --cluster: this is for the shipped profile {file.stem}, whose paths, hosts and image are examples; "
        f"give your own with --cluster FILE, as from a copy of {file}"
    )
    return file
