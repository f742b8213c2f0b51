"""Which of two results is better proven, and whether they are of the same work."""

from collections.abc import Iterator
from typing import Any

from openrecipes.problems import Problem
from openrecipes.recipe.block import Block
from openrecipes.recipe.model import Recipe, Status
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.recipe.result import Result
from openrecipes.recipe.write import plain
from openrecipes.verdict.strength import evidence


def weaker(old: LocatedRecipe, new: Result, status: Status) -> Iterator[Problem]:
    """The problem that the file's result has the stronger evidence, where it has."""
    there, comes = evidence(old.recipe.result, old.recipe.status), evidence(new, status)
    if there is not None and comes is not None and there > comes:
        yield Problem(
            place=old.place("result"),
            rule="result-stronger",
            what=f"the result here has the stronger evidence ({there}) than the new one ({comes})",
            mend="keep it, or write over it with --force",
        )


def other_work(old: LocatedRecipe, launched: Recipe) -> Iterator[Problem]:
    """Every key that says the run did other work than this recipe describes."""
    here, there = old.recipe, launched
    pairs: tuple[tuple[str, Any, Any], ...] = (
        ("model", here.model, there.model),
        ("gpu", here.gpu, there.gpu),
        ("workload", here.workload, there.workload),
        ("layout", here.layout, there.layout),
        ("trainer", here.trainer, there.trainer),
        ("arguments", here.arguments or {}, there.arguments or {}),
        ("result.steps_per_run", here.result.steps_per_run, there.result.steps_per_run),
    )
    for name, mine, theirs in pairs:
        for key, stated, ran in _differences(name, mine, theirs):
            yield Problem(
                place=old.place(key),
                rule="result-of-another-workload",
                what=f"the run had {key} {_shown(ran)}, but the recipe here says {_shown(stated)}",
                mend="write the result into the recipe that was launched, or write it here with --force",
            )


def _differences(key: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    one, other = (plain(value) if isinstance(value, Block) else value for value in (one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        for name in dict.fromkeys((*one, *other)):
            yield from _differences(f"{key}.{name}", one.get(name), other.get(name))
    elif one != other:
        yield key, one, other


def _shown(value: Any) -> str:
    return "nothing" if value is None else str(value)
