"""The two sides of the configuration check from what the words on the command line name."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from openrecipes.cli.names import recipe_named
from openrecipes.correctness.side import Side, side_of, side_of_log
from openrecipes.logs.run_log import read_log
from openrecipes.logs.sources import RUN_LOG
from openrecipes.problems import Place, Problem, UsageError, together
from openrecipes.recipe.read import LocatedRecipe, read_recipe
from openrecipes.render.located import placed_in
from openrecipes.runs.directory import RECORD, RunDirectory


def side_named(name: str, log: str | None) -> Side:
    """The side of a recipe, of a run directory by the recipe that it launched and the log that it holds, or of a log.

    Raises: UsageError if there is no such recipe or log; ProblemsError if it cannot be compared.
    """
    directory = RunDirectory(root=Path(name))
    if (Path(name) / RECORD).is_file():
        held = str(Path(name) / RUN_LOG)
        return _side(name, partial(read_recipe, directory.recipe), log or (held if directory.log.is_file() else None))
    if Path(name).exists() and Path(name).suffix not in (".yaml", ".yml"):
        if log:
            what = f"{name} is a log itself, and {log} is given as its log"
            mend = "name the recipe that ran, or leave the option out"
            raise UsageError(Problem(place=Place(file=name), rule="configuration-recipe", what=what, mend=mend))
        return side_of_log(read_log([name]).arguments, name)
    return _side(name, partial(recipe_named, name), log)


def _side(name: str, recipe: Callable[[], LocatedRecipe], log: str | None) -> Side:
    located, dump = together(recipe, lambda: read_log([log]).arguments if log else None)
    with placed_in(located):
        return side_of(located.recipe, name=name, dump=dump, log=log or "")
