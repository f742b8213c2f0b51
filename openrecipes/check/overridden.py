"""What keeps a recipe from being rendered: what it breaks only since settings changed it, and what it broke before."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from openrecipes.check.all_rules import ALL_RULES
from openrecipes.check.report import check_recipe
from openrecipes.check.rule import Section
from openrecipes.problems import Place, Problem, errors_in, in_order
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.render.located import as_launched, placed
from openrecipes.render.overrides import Overridden, in_words
from openrecipes.render.setting_problems import Override

# A changed recipe lies in no file: that it is not what the original's name says is what the settings are for.
_RULES: Final = tuple(rule for rule in ALL_RULES if rule.section is not Section.PLACES)
# What can be told of a recipe whose dp or window does not follow from its fields.
_APART: Final = tuple(rule for rule in ALL_RULES if rule.section in (Section.ENVIRONMENT, Section.ARGUMENTS))
# Of the fields that the command is derived from. The others are of words and figures that stand beside it.
_OF_THE_COMMAND: Final = frozenset(
    rule.id
    for rule in ALL_RULES
    if rule.section in (Section.HARDWARE, Section.LAYOUT, Section.DATA, Section.ENVIRONMENT, Section.ARGUMENTS)
)
# Of the text of `run`, which is derived anew.
_AGAINST_RUN: Final = frozenset({"words-command", "env-exports"})


def override_problems(original: LocatedRecipe, changed: Overridden) -> tuple[Problem, ...]:
    """Every problem that the original has not, at the setting it is about, else at its key in the original's file.

    Figures and evidence are no longer there, so that no rule compares them with what changed.
    """
    if not changed.changes:
        return ()
    known = {_identity(problem) for problem in check_recipe(original)}
    rules = _RULES if changed.whole else _APART
    found = check_recipe(as_launched(original, changed.recipe), rules=rules)
    told = {(problem.rule, problem.place.key) for problem in changed.problems}
    new = (
        problem
        for problem in found
        if _identity(problem) not in known
        and (problem.rule, problem.place.key) not in told
        and not (changed.problems and _is_of_run(problem))  # there is none, as they say
    )
    problems = (*changed.problems, *_placed(original, changed.changes, new))
    return in_order(placed(problem, original) for problem in problems)


def standing_problems(original: LocatedRecipe, launched: LocatedRecipe) -> tuple[Problem, ...]:
    """The original's own errors that are still there as it is launched; those that leave its command alone only warn.

    That `run` is another command is left out: the text derived from the fields is what counts.
    """
    found = errors_in(check_recipe(original))
    if launched is not original:
        still = {_identity(problem) for problem in check_recipe(launched, rules=_RULES)}
        found = tuple(problem for problem in found if _identity(problem) in still)
    return tuple(
        problem if _is_of_the_command(problem) else replace(problem, severity="warning")
        for problem in found
        if problem.rule != "words-command"
    )


def unsound_problems(located: LocatedRecipe) -> tuple[Problem, ...]:
    """What could not be read, and the errors of all other fields that the command is derived from."""
    found = errors_in(check_recipe(located))
    return in_order((*located.problems, *(problem for problem in found if _is_of_the_command(problem))))


def _is_of_the_command(problem: Problem) -> bool:
    return problem.rule in _OF_THE_COMMAND and not _is_of_run(problem)


def _is_of_run(problem: Problem) -> bool:
    return problem.place.key == "run" or problem.rule in _AGAINST_RUN


def _identity(problem: Problem) -> tuple[str, str, str]:
    return problem.rule, problem.place.key, problem.what


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
