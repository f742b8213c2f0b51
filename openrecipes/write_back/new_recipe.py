"""A new, unmeasured recipe made from another one: fields set, everything derived derived again.

new_recipe(source, path, settings)     -> NewRecipe, nothing written
write_new(made)                        writes it where nothing is yet
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from openrecipes.check.overridden import override_problems
from openrecipes.check.report import check_text
from openrecipes.problems import OutsideError, Place, Problem, ProblemsError, UsageError, errors_in
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.recipe.write import plain, recipe_text
from openrecipes.render.derived import derive
from openrecipes.render.located import placed_in
from openrecipes.render.overrides import changed_by
from openrecipes.render.setting_problems import Override, parsed_setting

INTENDED = "intended, not measured"


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRecipe:
    """A recipe that is not written yet: its path, its whole text, what was set, where derived keys come from."""

    path: Path
    text: str
    recipe: Recipe
    changes: tuple[str, ...]
    origins: Mapping[str, str]
    warnings: tuple[Problem, ...]


def new_recipe(source: LocatedRecipe, path: Path, settings: Sequence[str | Override]) -> NewRecipe:
    """The source with `KEY=VALUE` settings or other changes, as a draft (smoke, of the smoke trainer) without evidence.

    Raises: UsageError for a setting that does not hold; ProblemsError with everything that `check` has against the
    new recipe, its file's name included.
    """
    overrides = [parsed_setting(one) if isinstance(one, str) else one for one in settings]
    with placed_in(source):
        if overrides:
            changed = changed_by(source.recipe, overrides)
            recipe, changes, origins = changed.recipe, changed.deviations, changed.origins
            no_command = override_problems(source, changed) if changed.problems else ()
        else:
            derived = derive(source.recipe, plain(source.recipe), {})
            recipe, changes, origins, no_command = derived.recipe, (), derived.origins, derived.problems
        if no_command:
            raise ProblemsError(*no_command)
    if not any(override.key == "stack.source" for override in overrides):
        recipe = recipe.model_copy(update={"stack": recipe.stack.model_copy(update={"source": INTENDED})})
    text = recipe_text(recipe, _header_path(path))
    problems = check_text(text, str(path))
    if errors_in(problems):
        raise ProblemsError(*map(_unwritten, problems))
    return NewRecipe(path=path, text=text, recipe=recipe, changes=changes, origins=origins, warnings=problems)


def _unwritten(problem: Problem) -> Problem:
    """A problem of the recipe that would have been: its file has no lines to be looked up."""
    return replace(problem, place=Place(file=f"{problem.place.file} (not written)", key=problem.place.key))


def write_new(made: NewRecipe) -> None:
    """Writes the recipe, and its folders where they are missing.

    Raises: UsageError if there is anything at its path; OutsideError if it cannot be written.
    """
    path = made.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        raise taken(path) from None
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(made.text.encode())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise _unwritable(path, error) from None


def taken(path: Path) -> UsageError:
    """The refusal to write over something."""
    mend = "choose another name; a recipe is never written over"
    return UsageError(Problem(place=Place(file=str(path)), rule="new-exists", what="is there already", mend=mend))


def _unwritable(path: Path, error: OSError) -> OutsideError:
    what, mend = f"cannot be written: {error.strerror or error}", "choose a folder that you may write to"
    return OutsideError(Problem(place=Place(file=str(path)), rule="write-failed", what=what, mend=mend))


def _header_path(path: Path) -> str:
    """`recipes/<model>/<gpu>/<file>`, where the path ends so; else the path as named."""
    parts = PurePath(path).parts
    inside = len(parts) >= 4 and parts[-4] == "recipes"
    return PurePath(*parts[-4:]).as_posix() if inside else PurePath(path).as_posix()
