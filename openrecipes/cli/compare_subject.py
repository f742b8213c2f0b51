"""What the words of `compare` and `run --against` name: a recipe as published, or a run."""

from functools import partial
from pathlib import Path

from openrecipes.cli.names import recipe_named, shown_name
from openrecipes.compare.comparison import Comparison, compare
from openrecipes.compare.side import Side, published_side, run_side
from openrecipes.logs.sources import log_files
from openrecipes.problems import Place, Problem, UsageError, together
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.score.run_evidence import refuse_once

PUBLISHED = "published"


def compared(base: str, candidate: str, of: tuple[str, ...]) -> Comparison:
    """Two results by their names; `of` names the recipes of bare logs, which else are runs of the recipe beside them.

    Raises: UsageError for a name that means nothing; ProblemsError for a recipe that is unsound.
    """
    if len(of) > 2:
        what, mend = f"{len(of)} recipes for two results", "give --recipe once, or once for each log"
        raise UsageError(Problem(place=Place(key="--recipe"), rule="compare-usage", what=what, mend=mend))
    recipes, stated = together(
        lambda: together(partial(_recipe_or_log, base), partial(_recipe_or_log, candidate)),
        lambda: together(*(partial(recipe_named, name) for name in of)),
    )
    beside = next((found.recipe for found in recipes if found), None)
    known = tuple(found.recipe for found in stated) or (beside,)
    one, other = (
        partial(_recipe_side, found) if found else partial(run_side, name, known[min(index, len(known) - 1)])
        for index, (name, found) in enumerate(zip((base, candidate), recipes, strict=True))
    )
    return compare(*together(one, other))


def refuse_no_base(name: str) -> None:
    """Nothing, where `--against NAME` means something. Raises: as compared."""
    if name != PUBLISHED:
        _recipe_or_log(name)


def base_of(name: str, own: LocatedRecipe) -> Side:
    """What `--against NAME` means: `published` (the recipe's own figures), another recipe, or another run.

    Read before a run begins: it may write into the recipe, and a mistake in the name is to cost nothing.
    Raises: as compared.
    """
    if name == PUBLISHED:
        return _recipe_side(own)
    return run_side(name, own.recipe) if _is_run(name) else _recipe_side(recipe_named(name))


def against(base: Side, run: Path) -> Comparison:
    """A run that has ended against what `base_of` read before it began."""
    return compare(base, run_side(str(run)))


def _recipe_side(located: LocatedRecipe) -> Side:
    return published_side(located.recipe, shown_name(located.file))


def _recipe_or_log(name: str) -> LocatedRecipe | None:
    """The recipe of the name; None where it is a run's, which has a log."""
    if not _is_run(name):
        return recipe_named(name)
    log_files([name])
    return None


def _is_run(name: str) -> bool:
    """Whether a name is a run's: a folder, or a file that is no recipe."""
    path = Path(name)
    if name == "-":
        refuse_once(name, "a comparison")
    try:
        return path.is_dir() or (path.is_file() and path.suffix not in (".yaml", ".yml"))
    except (OSError, ValueError):
        return False
