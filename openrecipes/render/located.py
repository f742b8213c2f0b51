"""Problems that name keys, placed in the recipe's file; a changed recipe as a file of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from openrecipes.problems import Problem, ProblemsError, in_order
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe, parse_recipe
from openrecipes.recipe.write import recipe_text


@contextmanager
def placed_in(recipe: LocatedRecipe) -> Iterator[None]:
    """Lets problems out that name a key but no file with the recipe's file and the key's line."""
    try:
        yield
    except ProblemsError as error:
        raise type(error)(*in_order(placed(problem, recipe) for problem in error.problems)) from error


def placed(problem: Problem, recipe: LocatedRecipe) -> Problem:
    """The problem at its key in the recipe's file, unless it names a file already."""
    if problem.place.file or not problem.place.key:
        return problem
    return replace(problem, place=recipe.place(problem.place.key))


def as_launched(original: LocatedRecipe, recipe: Recipe) -> LocatedRecipe:
    """The changed recipe as a file of its own: canonical text under the header that the original has."""
    header = original.text.partition("\n")[0]
    path = header.removeprefix("# ") if header.startswith("# ") else original.file
    return parse_recipe(recipe_text(recipe, path), f"{original.file} (as launched)")
