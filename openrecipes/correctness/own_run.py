"""Whether a log is of a run of this recipe, by the arguments that its trainer printed."""

from collections.abc import Iterator, Mapping
from typing import Final

from openrecipes.correctness.argument_classes import argument_classes
from openrecipes.correctness.judgement import Item, judged_arguments
from openrecipes.correctness.side import Side, side_of
from openrecipes.problems import Place, Problem, ProblemsError
from openrecipes.recipe.read import LocatedRecipe

# The arm of a convergence check may be longer than the timed run: that is its length, and what is sized by it.
_LENGTH: Final = frozenset({"--num-rollout", "--train-iters", "--lr-decay-iters", "lr_warmup_steps"})
_MEND: Final = "name a log of this recipe; convergence writes it all the same with --force"


def own_run_problems(located: LocatedRecipe, log: str, arguments: Mapping[str, str]) -> tuple[Problem, ...]:
    """Why the log is not shown to be of this recipe: errors; and what its site did otherwise within what is tolerated:
    warnings. Nothing where it is the recipe's own.
    """
    try:
        ran = side_of(located.recipe, name=located.file, dump=arguments, log=log)
    except ProblemsError as error:
        return tuple(
            _problem(log, f"it cannot be shown that this is a run of {located.file}: {problem.what}")
            for problem in error.problems
        )
    return differences_from_recipe(ran)


def differences_from_recipe(ran: Side) -> tuple[Problem, ...]:
    """What a side's log ran otherwise than its recipe says, as own_run_problems; nothing where it has no log.

    Raises: ProblemsError where the recipe's fields give no command.
    """
    if ran.effective.source == ran.name or ran.recipe is None:
        return ()
    return tuple(_differences(ran, side_of(ran.recipe, name=ran.name)))


def _differences(ran: Side, stated: Side) -> Iterator[Problem]:
    log = ran.effective.source
    for item in judged_arguments(ran, stated, argument_classes()):
        if item.candidate == item.reference or item.name in _LENGTH:
            continue
        what = f"ran {item.name} {item.candidate}, where {ran.name} has {item.reference}"
        if not item.passed or _is_of_the_layout(item):
            yield _problem(log, what)
        elif item.judged == "tolerated" and not item.reference.startswith("$"):
            yield Problem(
                place=Place(file=log),
                rule="correctness-deviation",
                severity="warning",
                what=f"{what}: the curves speak for the former",
                mend="run the recipe as it stands, or change it",
            )


def _is_of_the_layout(item: Item) -> bool:
    return item.reference_from.startswith(("layout.", "workload.", "gpu."))


def _problem(log: str, what: str) -> Problem:
    return Problem(place=Place(file=log), rule="correctness-other-run", what=what, mend=_MEND)
