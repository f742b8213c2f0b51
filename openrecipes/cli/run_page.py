"""What a run came to, for people: the scorecard, and where everything lies."""

import os
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from openrecipes import units
from openrecipes.cli.score_page import score_page
from openrecipes.logs.text import decoded
from openrecipes.problems import printable
from openrecipes.recipe.model import Recipe
from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.record import RunRecord
from openrecipes.score.scorecard import Scorecard

_TAIL_BYTES = 64 * 2**10
_TAIL_LINES = 15


def run_page(recipe: Recipe, run: RunDirectory, record: RunRecord, card: Scorecard | None) -> RenderableType:
    """The scorecard if the run has one, how it ended, and its files."""
    title = f"{recipe.model} on {recipe.gpu.count} x {recipe.gpu.type}, {recipe.layout.label}"
    head: list[RenderableType] = [score_page(card, title)] if card else [Text(title, style="bold")]
    return Group(*head, Text(), files_table(run, record))


def log_tail(run: RunDirectory) -> str:
    """The log's last lines, without colours and with other control characters as escapes."""
    if not run.log.is_file():
        return ""
    with run.log.open("rb") as log:
        log.seek(max(0, run.log.stat().st_size - _TAIL_BYTES))
        lines = log.read().splitlines()[-_TAIL_LINES:]
    return "\n".join(printable(decoded(line).expandtabs()) for line in lines)


def files_table(run: RunDirectory, record: RunRecord) -> Table:
    """How the run stands, and its files."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    job = record.job
    took = ""
    if job is not None and job.end_unix_s is not None:
        took = f" in {units.seconds(job.end_unix_s - job.start_unix_s)}"
    ended = f"{record.outcome}{took}" + (f": {record.reason}" if record.reason else "")
    table.add_row("run", ended)
    table.add_row("directory", shown_path(run.root))
    for name, path in (
        ("recipe", run.recipe_with_result if run.recipe_with_result.exists() else run.recipe),
        ("log", run.log),
        ("launched", run.rendered),
        ("environment", run.environment),
        ("rows", run.rows),
    ):
        if path.exists():
            table.add_row(name, path.relative_to(run.root).as_posix())
    return table


def shown_path(path: Path) -> str:
    """The path as seen from here, where it lies below."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else os.fspath(path)
