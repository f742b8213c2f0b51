"""`site build`, `site serve` and `site steps`."""

from pathlib import Path
from typing import Annotated

import typer

from openrecipes.cli import output
from openrecipes.cli.names import library, recipe_named
from openrecipes.cli.site_options import http_address
from openrecipes.problems import together
from openrecipes.score.run_evidence import read_run
from openrecipes.site.build import build as build_site
from openrecipes.site.output_folder import write_folder
from openrecipes.site.publish_steps import publish_steps
from openrecipes.site.serve import serve_files, serve_folder

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def _root() -> None:
    """Build the leaderboard as a static site, or serve it.

    Example: openrecipes site build -o public
    """


@app.command()
def build(
    *,
    folder: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write; new, or an old site.")
    ],
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the site will be read; for the feed and the sitemap.")
    ] = None,
    repository: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the repository's files are read; links each recipe's file.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was written as one JSON document.")] = False,
) -> None:
    """Build the leaderboard as a static site that opens from disk, from the recipes alone.

    Example: openrecipes site build -o public --base-url https://recipes.example.org
    """
    base, repo = together(
        lambda: http_address("--base-url", base_url), lambda: http_address("--repository", repository)
    )
    site = build_site(library(), base_url=base and f"{base}/", repository=repo)
    write_folder(folder, site.files)
    counts = {
        "recipes": len(site.shelf.entries),
        "ranked": sum(len(board.rows) for board in site.shelf.ranking.boards),
        "boards": len(site.shelf.ranking.boards),
        "files": len(site.files),
    }
    document = {"folder": str(folder), **counts, "problems": [problem.document() for problem in site.problems]}
    words = ", ".join(f"{number:,} {name}" for name, number in counts.items())
    output.result(document, as_json=json, text=f"{folder / 'index.html'}\n{words}")
    output.problems(site.problems)


@app.command()
def serve(
    folder: Annotated[
        Path | None, typer.Argument(help="A built site.", show_default="build one from the recipes, in memory")
    ] = None,
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 8000,
    json: Annotated[bool, typer.Option("--json", help="Print the address as one JSON document.")] = False,
) -> None:
    """Serve the site on 127.0.0.1 until Ctrl-C.

    Example: openrecipes site serve --port 8080
    """

    def ready(address: str) -> None:
        output.result({"address": address}, as_json=json)
        output.say(f"serving {address} until Ctrl-C")

    if folder is not None:
        serve_folder(folder, port, ready=ready)
        return
    site = build_site(library())
    output.problems(site.problems)
    serve_files(site.files, port, ready=ready)


@app.command()
def steps(
    recipe: Annotated[str, typer.Argument(help="A recipe file, or its short name below recipes/.")],
    run: Annotated[str, typer.Argument(help="The run that its result was scored from: a log or a run directory.")],
    *,
    reference: Annotated[str | None, typer.Option(metavar="RUN", help="The reference run, for the loss curve.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the file's name as one JSON document.")] = False,
) -> None:
    """Write a result's steps beside its recipe, for the pictures of its page.

    Example: openrecipes site steps qwen3.5-moe-small/h200/openrecipes-tp2-ep2 train.log
    """
    located, measured, held_against = together(
        lambda: recipe_named(recipe), lambda: read_run(run), lambda: read_run(reference) if reference else None
    )
    file = publish_steps(located, measured, held_against)
    output.result({"file": str(file)}, as_json=json, text=str(file))
