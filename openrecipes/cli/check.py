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
from openrecipes.problems import Problem, UsageError, in_order
from openrecipes.recipe.library import is_folder, recipes_below
from openrecipes.targets.profile_kind import is_profile

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
    files = tuple(dict.fromkeys(_files(paths or [str(recipes.root)], missing)))
    profiles = tuple(file for file in files if is_profile(file))
    with without_plugins():
        report = check_files([file for file in files if file not in profiles], strict=strict)
        report = replace(report, problems=in_order((*missing, *report.problems, *_of_profiles(profiles))))
    document = {"files": len(files), "problems": [problem.document() for problem in report.problems]}
    counted = f"{len(profiles)} cluster profile{'' if len(profiles) == 1 else 's'} and " if profiles else ""
    output.result(document, as_json=json, text="\n".join([*map(str, report.problems), counted + report.summary]))
    if any(problem.rule == "file-readable" for problem in report.problems):
        raise typer.Exit(UsageError.exit_status)
    if report.errors:
        raise typer.Exit(1)


def _files(names: list[str], missing: list[Problem]) -> Iterator[Path]:
    """The files that the names mean; what names nothing goes to `missing`."""
    for name in names:
        try:
            yield from recipes_below(Path(name)) if name and is_folder(Path(name)) else [recipe_file(name)]
        except UsageError as error:
            missing.extend(error.problems)


def _of_profiles(files: tuple[Path, ...]) -> Iterator[Problem]:
    """The problems of cluster profiles; their models are loaded where there is one."""
    if files:
        from openrecipes.targets.read_profile import profile_file_problems  # noqa: PLC0415

        for file in files:
            yield from profile_file_problems(file)
