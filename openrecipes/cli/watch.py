"""`watch LOG | RUN_DIR`."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.live import Live

from openrecipes.cli import output
from openrecipes.cli.names import recipe_named
from openrecipes.cli.watch_page import WatchLines, watch_page
from openrecipes.cli.watched_run import Look, WatchedRun
from openrecipes.logs.sources import log_files
from openrecipes.problems import together

app = typer.Typer(add_completion=False)

_LOGS = "A growing log, a directory of one run's logs, or a run directory."


@app.command()
def watch(
    logs: Annotated[list[str], typer.Argument(metavar="LOG|RUN_DIR...", help=_LOGS)],
    *,
    recipe: Annotated[
        str | None, typer.Option(metavar="RECIPE", help="Recipe of a bare log, for its window and published figures.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Show where it stands now, and end.")] = False,
    interval: Annotated[float, typer.Option(metavar="S", min=0.1, max=3600, help="Seconds between two looks.")] = 1.0,
    json: Annotated[bool, typer.Option("--json", help="Print the last look as one JSON document.")] = False,
) -> None:
    """Watch a run: step, spread, score so far, time to the window's end, first sign of trouble.

    Ends when the run has ended, when its log has said nothing for an hour, or with Ctrl-C. Exit status 1 if the run
    failed or its figures mean nothing.

    Example: openrecipes watch runs/20261130-0912
    """
    named, _ = together(
        lambda: recipe_named(recipe).recipe if recipe else None,
        lambda: log_files([log for log in logs if not Path(log or "-").is_dir()]),
    )
    run = WatchedRun(logs, named)
    last = run.look(is_last=True) if once else _watched(run, interval, is_silent=json)
    output.result(last.document(), as_json=json, text=watch_page(last) if once else "")
    if last.diagnosis.is_bad:
        raise typer.Exit(1)


def _watched(run: WatchedRun, interval: float, *, is_silent: bool) -> Look:
    """The last look, after every look before it was shown."""
    if is_silent or not output.is_terminal():
        lines = WatchLines(say=(lambda _: None) if is_silent else output.line)
        while not (look := run.look()).has_ended:
            lines.show(look)
            time.sleep(interval)
        last = run.look(is_last=True)
        lines.show(last)
        return last
    with Live(console=output.console(), auto_refresh=False) as live:
        while not (look := run.look()).has_ended:
            live.update(watch_page(look), refresh=True)
            time.sleep(interval)
        last = run.look(is_last=True)
        live.update(watch_page(last), refresh=True)
    return last
