"""What the words on the command line name: recipes, and the folder they lie in."""

from pathlib import Path

from openrecipes.located_yaml import read_text
from openrecipes.problems import ProblemsError, errors_in
from openrecipes.recipe.library import Library
from openrecipes.recipe.read import LocatedRecipe, parse_recipe
from openrecipes.shipped import shipped


def library() -> Library:
    """The recipes of the current folder's `recipes/`, else those shipped with the package."""
    here = Path("recipes")
    return Library(root=here if here.is_dir() else shipped("recipes"))


def recipe_named(name: str) -> LocatedRecipe:
    """The recipe that a path or a short name means, sound.

    Raises: UsageError if there is none; ProblemsError if its file is unsound, with what `check` has against the other
    fields that the command is derived from.
    """
    located = parse_recipe(read_text(file := recipe_file(name)), str(file))
    if errors_in(located.problems):
        from openrecipes.check.overridden import unsound_problems  # noqa: PLC0415  (only where it is unsound)

        raise ProblemsError(*unsound_problems(located))
    return located


def recipe_file(name: str) -> Path:
    """The file that a path or a short name means; what the current folder lacks may be a shipped recipe.

    Raises: UsageError if there is none.
    """
    return library().find(name, beyond=_shipped())


def shown_name(file: str) -> str:
    """The short name of a recipe's file, here or among those shipped; the file itself if it lies elsewhere."""
    here, path = library().short_name(Path(file)), Path(file)
    return here if here != str(path) else _shipped().short_name(path)


def _shipped() -> Library:
    return Library(root=shipped("recipes"))
