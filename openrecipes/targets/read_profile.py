"""A cluster profile from its file, with every problem of the file at once."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from openrecipes.located_yaml import located_yaml, read_text
from openrecipes.problems import Place, Problem, ProblemsError, errors_in, in_order
from openrecipes.recipe.field_problems import field_problems
from openrecipes.recipe.read import field_errors, frozen, is_of_kind
from openrecipes.targets.placeholders import placeholder_problems
from openrecipes.targets.profile import Profile
from openrecipes.targets.profile_paths import relative_paths, unmounted_paths
from openrecipes.targets.profile_problems import contradictions


def read_profile(path: Path) -> Profile:
    """The profile in a file.

    Raises: UsageError if the file cannot be read; ProblemsError with every problem of its text.
    """
    profile, _ = _read(path)
    return profile


def _read(path: Path) -> tuple[Profile, tuple[Problem, ...]]:
    """The profile, and what only warns."""
    document = located_yaml(read_text(path), str(path))
    value = frozen(document.value)
    if is_of_kind(value, "model", but_not="target"):
        what, mend = "this is a recipe, and a cluster profile is wanted", "name a file such as one of launch/clusters"
        raise ProblemsError(Problem(place=Place(file=str(path)), rule="schema-kind", what=what, mend=mend))
    try:
        profile = Profile.model_validate(value)
    except ValidationError as error:
        complaints = field_problems(document, field_errors(document, error), Profile)
        raise ProblemsError(*in_order((*document.problems, *complaints))) from error
    found_together = (
        Problem(place=document.place(path), rule=rule, what=what, mend=mend)
        for path, rule, what, mend in contradictions(profile)
    )
    problems = in_order((*document.problems, *found_together))
    if errors_in(problems):
        raise ProblemsError(*problems)
    return profile, problems


def profile_file_problems(path: Path) -> tuple[Problem, ...]:
    """Every problem of a profile's file, also where it cannot be read."""
    try:
        profile, warnings = _read(path)
    except ProblemsError as error:
        return error.problems
    found = (*placeholder_problems(profile, "warning"), *relative_paths(profile), *unmounted_paths(profile))
    return in_order((*warnings, *in_profile(found, path, profile)))


@contextmanager
def placed_in_profile(path: Path | None, profile: Profile) -> Iterator[None]:
    """Lets problems out that name a profile by its name with the file and the key's line."""
    try:
        yield
    except ProblemsError as error:
        raise type(error)(*in_profile(error.problems, path, profile)) from error


def in_profile(problems: Iterable[Problem], path: Path | None, profile: Profile) -> tuple[Problem, ...]:
    """The problems, those that name a profile by its name with the file and the key's line; then in order."""
    found = tuple(problems)
    if path is None or not any(problem.place.file == profile.title for problem in found):
        return found
    document = located_yaml(read_text(path), str(path))
    return in_order(
        replace(problem, place=document.place(problem.place.key or ""))
        if problem.place.file == profile.title
        else problem
        for problem in found
    )
