"""All rules over recipes: a text, a file, or many files to the problems in them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from openrecipes.check.all_rules import ALL_RULES
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
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"


def check_recipe(located: LocatedRecipe) -> tuple[Problem, ...]:
    """Every problem of one recipe: what its reader found, and what the rules find."""
    subject = Subject(located=located)
    return in_order((*located.problems, *_found(subject)))


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


def _found(subject: Subject) -> Iterator[Problem]:
    for rule in ALL_RULES:
        try:
            yield from rule.problems(subject)
        except AttributeError:
            # The rule needs a field that could not be read; the reader has already said which.
            if subject.located.complete:
                raise
