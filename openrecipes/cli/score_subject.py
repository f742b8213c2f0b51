"""What the words of `score` name: a recipe and its runs, or runs described by options."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from openrecipes import units
from openrecipes.catalog.prices import price
from openrecipes.cli.names import recipe_named
from openrecipes.problems import Place, Problem, UsageError, together
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.score.expected import Expected, expected_by_hand, expected_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Stated:
    """What the caller states in place of a recipe; None is not given."""

    gpus: int | None
    global_batch: int | None
    row_tokens: int | None
    gpu: str | None
    model: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """What is scored: the recipe where there is one, and what the runs must have been."""

    recipe: LocatedRecipe | None
    expected: Expected
    title: str


def runs_among(names: Sequence[str], stated: Stated) -> tuple[str, ...]:
    """The names that are runs': all but the recipe's."""
    return tuple(names if _options(stated) else names[1:])


def subject(names: Sequence[str], stated: Stated, price_id: str | None, *, write: bool) -> Subject:
    """What the words mean to score.

    Raises: UsageError if the options are half given, there is no run, or `write` has no recipe to write to;
    ProblemsError if the recipe is unsound.
    """
    given = _options(stated)
    if given:
        return _by_hand(stated, given, price_id, write=write)
    if len(names) < 2:
        raise _usage(
            f"{names[0]} is one name, where a recipe and a run are needed",
            "write `score RECIPE RUN`, or describe the run: --gpus N --global-batch B --row-tokens R RUN",
        )
    if write and price_id:
        raise _usage(
            "--price changes only what is shown: a recipe's $ is at the catalogue's default price", "leave one out"
        )
    located, price_used = together(lambda: recipe_named(names[0]), lambda: price(price_id) if price_id else None)
    recipe = located.recipe
    title = f"{recipe.model} on {recipe.gpu.count} x {recipe.gpu.type}, {recipe.layout.label}"
    return Subject(recipe=located, expected=expected_of(recipe, price_used), title=title)


def _options(stated: Stated) -> dict[str, object]:
    return {f"--{name.replace('_', '-')}": value for name, value in asdict(stated).items() if value is not None}


def _by_hand(stated: Stated, given: dict[str, object], price_id: str | None, *, write: bool) -> Subject:
    if write:
        raise _usage("--write needs a recipe to write to", "name the recipe first: score RECIPE RUN --write")
    missing = [option for option in ("--gpus", "--global-batch", "--row-tokens") if option not in given]
    if stated.gpus is None or stated.global_batch is None or stated.row_tokens is None:
        raise _usage(
            f"{', '.join(given)} without {' and '.join(missing)}",
            "without a recipe, give --gpus, --global-batch and --row-tokens; with one, none of them",
        )
    expected = expected_by_hand(
        gpus=stated.gpus,
        global_batch=stated.global_batch,
        row_tokens=stated.row_tokens,
        gpu_type=stated.gpu,
        model_name=stated.model,
        price=price(price_id) if price_id else None,
    )
    kind = f"{stated.gpus} x {expected.gpu_type}" if expected.gpu_type else units.counted(stated.gpus, "GPU")
    work = f"{units.counted(stated.global_batch, 'row')} of {units.counted(stated.row_tokens, 'token')} a step"
    return Subject(recipe=None, expected=expected, title=f"{expected.model or 'A run'} on {kind}, {work}")


def _usage(what: str, mend: str) -> UsageError:
    return UsageError(Problem(place=Place(), rule="score-usage", what=what, mend=mend))
