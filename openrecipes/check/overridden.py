"""What a recipe breaks only since settings changed it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from openrecipes.check.all_rules import ALL_RULES
from openrecipes.check.report import check_recipe
from openrecipes.check.rule import Section
from openrecipes.problems import Place, Problem
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.render.located import as_launched
from openrecipes.render.overrides import Overridden, Override, in_words

# A changed recipe lies in no file: that it is not what the original's name says is what the settings are for.
_RULES: Final = tuple(rule for rule in ALL_RULES if rule.section is not Section.PLACES)


def override_problems(original: LocatedRecipe, changed: Overridden) -> tuple[Problem, ...]:
    """Every problem that the original has not, at the setting it is about, else at its key in the original's file.

    Figures and evidence are no longer there, so that no rule compares them with what changed.
    """
    if not changed.changes:
        return ()
    known = {(problem.rule, problem.place.key, problem.what) for problem in check_recipe(original)}
    found = check_recipe(as_launched(original, changed.recipe), rules=_RULES)
    new = (problem for problem in found if (problem.rule, problem.place.key, problem.what) not in known)
    return tuple(_placed(original, changed.changes, new))


def _placed(original: LocatedRecipe, changes: Sequence[Override], problems: Iterator[Problem]) -> Iterator[Problem]:
    of_key = {change.key: change.place for change in changes}
    for problem in problems:
        key = problem.place.key
        if key in of_key:
            yield replace(problem, place=of_key[key])
            continue
        # The command is derived anew, so that the original's lines say nothing of it.
        place = Place(file=original.file, key=key) if key == "run" else original.place(key)
        yield replace(problem, place=place, what=f"{problem.what}, with {in_words(changes)}")
