"""All rules over recipes: a text, a file, or many files to the problems in them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from openrecipes import units
from openrecipes.check.all_rules import ALL_RULES
from openrecipes.check.rule import Rule
from openrecipes.check.subject import Subject
from openrecipes.located_yaml import read_text
from openrecipes.problems import Problem, ProblemsError, errors_in, in_order
from openrecipes.recipe.read import LocatedRecipe, parse_recipe


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What a check of some files found, in file and line order."""

    files: int
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The errors alone."""
        return errors_in(self.problems)

    @property
    def summary(self) -> str:
        """The closing line: `3 recipes: no errors, 6 warnings`."""
        errors = len(self.errors)
        counted = [_count(errors, "error"), _count(len(self.problems) - errors, "warning")]
        return f"{_count(self.files, 'recipe')}: {', '.join(counted)}"


def _count(number: int, word: str) -> str:
    return units.counted(number, word) if number else f"no {word}s"


def check_recipe(located: LocatedRecipe, *, rules: Sequence[Rule] = ALL_RULES) -> tuple[Problem, ...]:
    """Every problem of one recipe: what its reader found, and what the rules find."""
    found = tuple(_found(Subject(located=located), rules))
    if any(problem.rule == "layout-dp" for problem in found):
        found = _without_what_dp_explains(located, found, rules)
    return in_order((*located.problems, *found))


def _without_what_dp_explains(
    located: LocatedRecipe, found: tuple[Problem, ...], rules: Sequence[Rule]
) -> tuple[Problem, ...]:
    """One mistake, one problem: leaves out what is no longer found where dp is what the other degrees give.

    dp stands in the label, the summary, the batch and the argument dump, so a wrong one trips rules of each.
    """
    recipe, layout = located.recipe, located.recipe.layout
    right = layout.model_copy(update={"dp": recipe.gpu.count // (layout.tp * layout.pp * layout.cp)})
    mended = replace(located, recipe=recipe.model_copy(update={"layout": right}))
    remaining = {(problem.rule, problem.place) for problem in _found(Subject(located=mended), rules)}
    return tuple(p for p in found if p.rule == "layout-dp" or (p.rule, p.place) in remaining)


def check_text(text: str, file: str) -> tuple[Problem, ...]:
    """Every problem of a recipe's text; `file` is what the problems call it."""
    try:
        located = parse_recipe(text, file)
    except ProblemsError as error:
        return error.problems
    return check_recipe(located)


def check_file(path: Path) -> tuple[Problem, ...]:
    """Every problem of a recipe file, also where it cannot be read."""
    try:
        text = read_text(path)
    except ProblemsError as error:
        return error.problems
    return check_text(text, str(path))


def check_files(paths: Iterable[Path], *, strict: bool = False) -> Report:
    """Every problem of many files; one that cannot be read hides nothing of the others.

    `strict` makes warnings errors.
    """
    files = tuple(paths)
    found = in_order(problem for path in files for problem in check_file(path))
    if strict:
        found = tuple(replace(problem, severity="error") for problem in found)
    return Report(files=len(files), problems=found)


def _found(subject: Subject, rules: Sequence[Rule]) -> Iterator[Problem]:
    for rule in rules:
        try:
            yield from rule.problems(subject)
        except AttributeError:
            # The rule needs a field that could not be read; the reader has already said which.
            if subject.located.complete:
                raise
