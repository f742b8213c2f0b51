"""`bundle RECIPE RUN_DIR… -o FILE`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from openrecipes import units
from openrecipes.cli import output
from openrecipes.cli.names import recipe_named
from openrecipes.cli.pairs import pairs
from openrecipes.evidence.bundle import Bundled
from openrecipes.evidence.bundle import bundle as packed
from openrecipes.evidence.output_file import refuse_output
from openrecipes.logs.sources import log_files
from openrecipes.problems import together
from openrecipes.runs.directory import open_run_directory

app = typer.Typer(add_completion=False)


@app.command()
def bundle(
    recipe: Annotated[str, typer.Argument(help="The recipe with the result: a file, or its short name.")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN_DIR...", help="The run directories behind the result.")],
    *,
    file: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="The bundle to write, a .tar.gz; an older bundle there is replaced."
        ),
    ],
    curves: Annotated[
        list[str] | None,
        typer.Option("--correctness-log", metavar="LOG", help="A log that correctness.convergence names; repeatable."),
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Replace secrets, hosts, addresses, users and private paths.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was packed as one JSON document.")] = False,
) -> None:
    """Pack everything behind a result into one file, which is written only if every figure follows from it.

    Example: openrecipes bundle recipes/qwen3-32b/h200/a-tp4.yaml runs/a-run -o a-tp4.tar.gz --redact
    """
    located, _, _ = together(
        lambda: recipe_named(recipe),
        lambda: together(*(partial(open_run_directory, run) for run in runs)),
        lambda: together(lambda: log_files(curves or ()), lambda: refuse_output(file)),
    )
    made = packed(located, runs, file, redact=redact, curves=tuple(curves or ()))
    document = {
        "file": str(made.file),
        "sha256": made.sha256,
        "size_bytes": made.size_bytes,
        "runs": made.contents.runs,
        "redacted": made.contents.redacted,
        "replaced": made.replaced,
        "files": [one.model_dump() for one in made.contents.files],
        **{key: value for key, value in made.verified.document().items() if key in ("ok", "figures", "problems")},
    }
    output.result(document, as_json=json, text=_page(made))
    output.problems(made.verified.problems)


def _page(made: Bundled) -> Table:
    replaced = ", ".join(f"{count} x {kind}" for kind, count in sorted(made.replaced.items()))
    lines = {
        "bundle": f"{made.file} ({units.size(made.size_bytes)})",
        "sha256": made.sha256,
        "holds": f"{len(made.contents.files)} files of {made.contents.runs} run{'s' if made.contents.runs > 1 else ''}",
        "figures": f"{len(made.verified.figures)}, each derived again from the bundle",
    }
    if made.contents.redacted:
        lines["redacted"] = f"{replaced}; the hash of each original is kept"
        is_recipe = any(one.is_redacted and one.path == "recipe.yaml" for one in made.contents.files)
        if is_recipe:
            lines["recipe"] = "redacted too: submit the bundle's recipe.yaml"
    return pairs(lines.items())
