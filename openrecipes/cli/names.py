"""What the words on the command line name: recipes, and the folder they lie in."""

from pathlib import Path

from openrecipes.recipe.library import Library
from openrecipes.recipe.read import LocatedRecipe, read_recipe
from openrecipes.shipped import shipped


def library() -> Library:
    """The recipes of the current folder's `recipes/`, else those shipped with the package."""
    here = Path("recipes")
    return Library(root=here if here.is_dir() else shipped("recipes"))


def recipe_named(name: str) -> LocatedRecipe:
    """The recipe that a path or a short name means, sound; what the current folder lacks may be a shipped one.

    Raises: UsageError if there is none; ProblemsError with all problems if its file is unsound.
    """
    here, ours = library(), Library(root=shipped("recipes"))
    is_only_ours = not here.has(name) and ours.has(name)
    return read_recipe((ours if is_only_ours else here).find(name))
