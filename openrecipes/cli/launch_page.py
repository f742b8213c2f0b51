"""What a launch came to, or would be: as data, and for people."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from openrecipes.cli import output
from openrecipes.cli.ask_cost import cost_in_words
from openrecipes.cli.launching import Asked, refuse_where, rows_missing, unseen_files
from openrecipes.cli.render_page import document, listing
from openrecipes.cli.run_page import files_table, log_tail, shown_path
from openrecipes.problems import OutsideError
from openrecipes.targets.read_profile import placed_in_profile
from openrecipes.targets.rendering import Prepared
from openrecipes.targets.run_book import RunBook
from openrecipes.targets.starting import refuse_place, slurm_would_take
from openrecipes.targets.submit import write_rendered


def dry_run(asked: Asked, ready: Prepared) -> tuple[dict[str, Any], str]:
    """What `render --json` prints, and the files with what would be done with them.

    Raises: UsageError where the launch could not write; ProblemsError and OutsideError where Slurm would not take it.
    """
    refuse_where(asked, ready)
    output.problems(rows_missing(asked, ready))
    how = {
        "slurm": "would be submitted, in the directory RUN: sbatch --parsable --job-name=NAME rendered/launch.sh RUN",
        "kubernetes": "would be created with kubectl, after configmap.yaml",
    }.get(ready.target.name, "would be started here: bash rendered/launch.sh RUN")
    entry = f"{ready.rendered.entry} {how}; render_sha256 {ready.rendered.render_sha256}"
    unseen = () if asked.is_example else tuple(unseen_files(asked))
    cost = cost_in_words(asked.recipe.recipe, ready.launch.recipe, asked.profile)
    with placed_in_profile(asked.cluster, asked.profile):
        scheduler = () if asked.is_example else tuple(_scheduler_says(ready))
    for remark in (*ready.deviations, *((cost[1],) if cost else ()), entry, *unseen, *scheduler):
        output.say(remark)
    return document(ready.launch.command, ready.rendered, ready.deviations), listing(ready.rendered)


def _scheduler_says(ready: Prepared) -> Iterator[str]:
    """What sbatch says of the script without taking it, where there is an sbatch."""
    if ready.target.name != "slurm" or shutil.which("sbatch") is None:
        return
    try:
        refuse_place(ready)
    except OutsideError as error:
        yield f"no Slurm answers here, so it was not asked: {'; '.join(problem.what for problem in error.problems)}"
        return
    with tempfile.TemporaryDirectory(prefix="openrecipes-") as folder:
        write_rendered(ready.rendered, Path(folder) / "rendered")
        yield slurm_would_take(Path(folder), "dry-run", ready)


def launched(book: RunBook) -> tuple[dict[str, Any], RenderableType]:
    """The run record, and how the run stands with its files; the log's end where it failed."""
    record, run = book.record, book.run
    data = {"run_dir": str(run.root), **record.model_dump(mode="json")}
    if record.outcome == "failed":
        output.say(f"the end of the log:\n{log_tail(run)}\n")
    parts: list[RenderableType] = [Text(f"{record.model} on {record.gpus} x {record.gpu_type}", style="bold")]
    if record.submission is not None and not record.has_ended:
        parts.append(_next_steps(book))
    return data, Group(*parts, files_table(run, record))


def _next_steps(book: RunBook) -> Table:
    """How to come back to a job that goes on."""
    submission, directory = book.record.submission, shown_path(book.run.root)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    if submission is not None:
        table.add_row("job", f"{submission.kind} {submission.id or submission.name}")
    table.add_row("follow", f"openrecipes launch --attach {directory}")
    table.add_row("look", f"openrecipes watch {directory}")
    table.add_row("stop", f"openrecipes launch --stop {directory}")
    return table
