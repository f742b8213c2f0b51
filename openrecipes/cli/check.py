"""`check [PATH…]`."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from openrecipes.check.report import check_files
from openrecipes.cli import output
from openrecipes.cli.model_plugins import without_plugins
from openrecipes.cli.names import library, recipe_file
from openrecipes.problems import Problem, UsageError, in_order, unreadable
from openrecipes.recipe.library import is_folder, recipes_below
from openrecipes.targets.profile_kind import Kind, kind_of

app = typer.Typer(add_completion=False)


@app.command()
def check(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Recipe files, folders or short names; all of recipes/ if none."),
    ] = None,
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Count warnings as errors.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the problems as one JSON document.")] = False,
) -> None:
    """Lint recipes: schema, layout arithmetic, arguments, words, figures; and cluster profiles.

    Example: openrecipes check recipes/qwen3.5-397b-a17b --strict
    """
    recipes = library()
    missing: list[Problem] = []
    kinds = dict(_files(paths or [str(recipes.root)], missing))
    files = tuple(file for file, kind in kinds.items() if kind != "other")
    profiles = tuple(file for file in files if kinds[file] == "profile")
    with without_plugins():
        report = check_files([file for file in files if file not in profiles], strict=strict)
        of_profiles = (replace(p, severity="error") if strict else p for p in _of_profiles(profiles))
        report = replace(report, problems=in_order((*missing, *report.problems, *of_profiles)))
    document = {"files": len(files), "problems": [problem.document() for problem in report.problems]}
    counted = f"{len(profiles)} cluster profile{'' if len(profiles) == 1 else 's'} and " if profiles else ""
    output.result(document, as_json=json, text="\n".join([*map(str, report.problems), counted + report.summary]))
    left = len(kinds) - len(files)
    if left:
        output.say(f"{_files_counted(left)} in the folders left out: no recipe, no cluster profile")
    if any(problem.rule == "file-readable" for problem in report.problems):
        raise typer.Exit(UsageError.exit_status)
    if report.errors:
        raise typer.Exit(1)


def _files(names: list[str], missing: list[Problem]) -> Iterator[tuple[Path, Kind]]:
    """The files that the names mean, with what they are meant as; what names nothing goes to `missing`.

    A file that is named is a recipe or a profile, and so is every file of a library; in other folders may lie others.
    """
    for name in names:
        try:
            if name and is_folder(Path(name)):
                yield from _in_folder(name).items()
            else:
                file = recipe_file(name)
                yield file, kind_of(file, otherwise="recipe")
        except UsageError as error:
            missing.extend(error.problems)


def _in_folder(name: str) -> dict[Path, Kind]:
    """Every YAML file below a folder. Raises: UsageError if none is a recipe or a profile."""
    found: dict[Path, Kind] = {}
    for file in recipes_below(Path(name)):
        in_library = file.parts[-4:-3] == ("recipes",)
        found[file] = kind_of(file, otherwise="recipe" if in_library else "other")
    if set(found.values()) == {"other"}:
        what = f"holds no recipe and no cluster profile, only {_files_counted(len(found))} of other kinds"
        raise unreadable(name, what, "name a folder with recipes")
    return found


def _files_counted(number: int) -> str:
    return f"{number} YAML file{'' if number == 1 else 's'}"


def _of_profiles(files: tuple[Path, ...]) -> Iterator[Problem]:
    """The problems of cluster profiles; their models are loaded where there is one."""
    if files:
        from openrecipes.targets.read_profile import profile_file_problems  # noqa: PLC0415

        for file in files:
            yield from profile_file_problems(file)
