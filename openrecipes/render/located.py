"""Problems that name keys, placed in the recipe's file."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from openrecipes.problems import Problem, ProblemsError, in_order
from openrecipes.recipe.read import LocatedRecipe


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
