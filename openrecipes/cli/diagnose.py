"""`diagnose LOG…`."""

from typing import Annotated

import typer

from openrecipes.cli import output
from openrecipes.cli.diagnosis_page import diagnosis_page
from openrecipes.cli.names import recipe_named
from openrecipes.diagnosis.diagnose import diagnose as diagnosis_of
from openrecipes.logs.sources import log_files
from openrecipes.problems import together

app = typer.Typer(add_completion=False)

_LOGS = "Logs of one run: files, a directory of its ranks' logs, a run directory, - for stdin."


@app.command()
def diagnose(
    logs: Annotated[list[str], typer.Argument(metavar="LOG...", help=_LOGS)],
    *,
    recipe: Annotated[
        str | None,
        typer.Option(metavar="RECIPE", help="Recipe of a bare log: its steps, and whether it starts at random."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the diagnosis as one JSON document.")] = False,
) -> None:
    """Find the first cause of a failed run: class, rank, node, line and remedy.

    Exit status 1 if the run failed or its figures mean nothing.

    Example: openrecipes diagnose runs/20261130-0912
    """
    named, _ = together(lambda: recipe_named(recipe).recipe if recipe else None, lambda: log_files(logs))
    found = diagnosis_of(logs, named)
    output.result(found.document(), as_json=json, text=diagnosis_page(found))
    output.problems(found.problems)
    if found.is_bad:
        raise typer.Exit(1)
