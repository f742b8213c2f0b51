"""`verify FILE`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from openrecipes.cli import output
from openrecipes.cli.names import recipe_file
from openrecipes.evidence.verify import Verified, held_against
from openrecipes.evidence.verify import verify as verified
from openrecipes.problems import printable, together

app = typer.Typer(add_completion=False)


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="The bundle.")],
    *,
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", metavar="RECIPE", help="The recipe that it must be of, byte for byte."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as one JSON document.")] = False,
) -> None:
    """Derive every hash and figure of a bundle again, offline, and refuse it where anything differs.

    Example: openrecipes verify a-tp4.tar.gz --recipe recipes/qwen3-32b/h200/a-tp4.yaml
    """
    claim, found = together(lambda: recipe_file(recipe) if recipe is not None else None, lambda: verified(file))
    if claim is not None:
        found = held_against(found, file, claim)
    output.result(found.document(), as_json=json, text=_page(file, found))
    output.problems(found.problems)
    if not found.ok:
        raise typer.Exit(1)


def _page(file: Path, found: Verified) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("figure", "claimed", "derived again", ""):
        table.add_column(name, overflow="fold")
    for one in found.figures:
        is_same = one.claimed == one.derived or one.claimed is None
        judged = "" if is_same and one.ok else "agrees" if one.ok else "differs"
        table.add_row(one.name, _short(one.claimed), "the same" if is_same else _short(one.derived), judged)
    verdict = Text(f"{file}: {'ok' if found.ok else 'refused'}", style="bold")
    return Group(table, Text(), verdict) if found.figures else verdict


def _short(value: Any) -> str:
    said = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str("-" if value is None else value)
    text = printable(" ".join(said.split()))
    return text if len(text) <= 40 else f"{text[:39]}…"
