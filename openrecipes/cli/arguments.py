"""`arguments snapshot` and `arguments explain FLAG`."""

import sys
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from openrecipes.catalog.arguments import argument_catalogue, stack_ids
from openrecipes.catalog.snapshot import snapshot as parser_snapshot
from openrecipes.catalog.snapshot import snapshot_text
from openrecipes.cli import output
from openrecipes.cli.arguments_page import explained, page
from openrecipes.problems import Place, Problem, UsageError, unreadable

app = typer.Typer(add_completion=False, no_args_is_help=True)
Commit = Annotated[str | None, typer.Option(metavar="COMMIT", help="Its commit, where the folder has no git.")]


@app.callback()
def _root() -> None:
    """The trainer's own parser as data, and what one of its flags is.

    Example: openrecipes arguments explain max-tokens-per-gpu
    """


@app.command()
def snapshot(
    *,
    slime: Annotated[Path, typer.Option(metavar="DIR", help="A checkout of slime.")],
    megatron: Annotated[Path, typer.Option(metavar="DIR", help="A checkout of Megatron-LM with slime's patch.")],
    file: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The JSON file to write.")],
    python: Annotated[
        str, typer.Option(help="An interpreter with the trainer's imports.", show_default="this one")
    ] = sys.executable,
    slime_commit: Commit = None,
    megatron_commit: Commit = None,
    json: Annotated[bool, typer.Option("--json", help="Print the file and its stack as one JSON document.")] = False,
) -> None:
    """Write the parser of two checkouts as data. It runs in their environment and needs no GPU.

    Example: openrecipes arguments snapshot --slime slime --megatron Megatron-LM -o arguments.json
    """
    for commit in (slime_commit, megatron_commit):
        if commit is not None and not (len(commit) == 40 and set(commit) <= set("0123456789abcdef")):
            what = f"{commit} is no whole commit"
            problem = Problem(place=Place(), rule="commit-known", what=what, mend="give its 40 hexadecimal digits")
            raise UsageError(problem)
    found = parser_snapshot(slime, megatron, python=python, commits=(slime_commit, megatron_commit), today=date.today())
    try:
        file.write_text(snapshot_text(found), encoding="utf-8")
    except OSError as error:
        raise unreadable(
            str(file), f"{file} cannot be written: {error.strerror}", "name a file you may write"
        ) from error
    document = {"file": str(file), "stack_id": found.stack_id, "arguments": len(found.arguments)}
    if json:
        output.result(document, as_json=True)
    output.say(f"wrote {file}: {len(found.arguments)} arguments of {found.stack_id}")


# A trainer's flag is not an option of this verb; without this, typer would refuse it.
@app.command(context_settings={"ignore_unknown_options": True})
def explain(
    flag: Annotated[str, typer.Argument(metavar="FLAG", help="The flag; the leading dashes may be left out.")],
    *,
    stack: Annotated[str | None, typer.Option(metavar="ID", help="The stack; default: the last known.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Tell what one flag is: who defines it, its type, default and choices, and the recipe field that decides it.

    Example: openrecipes arguments explain max-tokens-per-gpu
    """
    document = explained(flag, argument_catalogue(stack or stack_ids()[-1]))
    output.result(document, as_json=json, text=page(document))
