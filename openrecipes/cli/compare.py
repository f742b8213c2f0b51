"""`compare A B`."""

from typing import Annotated

import typer

from openrecipes.cli import output
from openrecipes.cli.compare_page import compare_page
from openrecipes.cli.compare_subject import compared

app = typer.Typer(add_completion=False)

_EACH = "A recipe as published, a run directory, or the log of a run."


@app.command()
def compare(
    base: Annotated[str, typer.Argument(metavar="A", help=f"The base. {_EACH}")],
    candidate: Annotated[str, typer.Argument(metavar="B", help=f"What is measured against it. {_EACH}")],
    *,
    recipe: Annotated[
        list[str] | None,
        typer.Option(metavar="RECIPE", help="The recipe of bare logs; given twice, of A and of B."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as one JSON document.")] = False,
) -> None:
    """Compare B with A: may they be compared, by how much they differ, whether the spread explains it, what could.

    Example: openrecipes compare qwen3.5-397b-a17b/h200/attune-tp1-pp4-ep32 qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32
    """
    found = compared(base, candidate, tuple(recipe or ()))
    output.result(found.document(), as_json=json, text=compare_page(found))
    if not found.comparable:
        raise typer.Exit(1)
