"""The place that a caller names, with what the caller changes of it for one run."""

from collections.abc import Sequence
from pathlib import Path

from openrecipes.cli import output
from openrecipes.cli.names import recipe_named
from openrecipes.problems import ProblemsError, UsageError, together
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.render.located import placed_in
from openrecipes.render.overrides import changed_by
from openrecipes.render.setting_problems import parsed_setting
from openrecipes.targets.profile import THIS_MACHINE, Profile
from openrecipes.targets.read_profile import read_profile
from openrecipes.targets.rendering import target_named, target_of
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


def recipe_and_place(
    recipe: str,
    target: str | None,
    cluster: Path | None,
    settings: Sequence[str],
    *,
    first_step_seconds: int | None = None,
    is_look: bool = False,
) -> tuple[LocatedRecipe, Path | None, Profile]:
    """The sound recipe of a name, and the place where it is to run, with its file; an example for a mere look.

    Raises: UsageError or ProblemsError with all that is wrong with what the caller named, settings included.
    """

    def named() -> LocatedRecipe:
        return recipe_named(recipe)

    def place() -> Profile | None:
        profile, kind = together(
            lambda: profile_asked(cluster, first_step_seconds=first_step_seconds),
            lambda: target_named(target) if target else None,
        )
        if cluster is None and is_look:
            return None
        target_of(kind.name if kind else None, profile)
        return profile

    try:
        located, profile = together(named, place)
    except ProblemsError:
        # Where the place is known, its own settings are held with the caller's; here there are only these.
        together(named, place, lambda: _changed(named(), settings))
        raise
    if profile is None:
        cluster = example_asked(target, located, settings)
        profile = profile_asked(cluster, first_step_seconds=first_step_seconds)
    return located, cluster, profile


def example_asked(target: str | None, recipe: LocatedRecipe, settings: Sequence[str]) -> Path | None:
    """The shipped profile that a look at a target's files takes where none is named; None where this machine is meant.

    Said on stderr. Raises: as target_named and example_for.
    """
    if target is None or target_named(target).name == THIS_MACHINE.target:
        return None
    file = example_for(target, _changed(recipe, settings))
    output.say(
        f"no --cluster: this is for the shipped profile {file.stem}, whose paths, hosts and image are examples; "
        f"give your own with --cluster FILE, as from a copy of {file}"
    )
    return file


def _changed(recipe: LocatedRecipe, settings: Sequence[str]) -> Recipe:
    with placed_in(recipe):
        return changed_by(recipe.recipe, [parsed_setting(text) for text in settings]).recipe
