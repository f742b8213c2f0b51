"""`steps LOG…`."""

from typing import Annotated, Any, Final

import typer
from rich.console import Group
from rich.text import Text

from openrecipes.cli import output
from openrecipes.cli.columns import columns
from openrecipes.logs.detect import READERS
from openrecipes.logs.run_log import RunLog, read_log
from openrecipes.logs.step import StepRecord
from openrecipes.problems import errors_in

_HEAD: Final = ("step", "time s", "wait s", "train s", "loss", "grad norm", "lr", "tokens", "line")
_ABSURD: Final = 10**12

app = typer.Typer(add_completion=False)


@app.command()
def steps(
    logs: Annotated[
        list[str],
        typer.Argument(metavar="LOG", help="Raw logs of one run: files, directories, run directories, - for stdin."),
    ],
    *,
    log_format: Annotated[
        str | None, typer.Option("--format", help=f"The log's format, if not to be detected: {', '.join(READERS)}.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Read per-step records from raw logs of any supported trainer.

    Example: openrecipes steps runs/20261130-0912/log/train.log
    """
    log = read_log(logs, format=log_format)
    output.result(document(log), as_json=json, text=_table(log))
    output.problems(log.problems)
    if errors_in(log.problems) or not log.steps:
        raise typer.Exit(1)


def document(log: RunLog) -> dict[str, Any]:
    """The log as `--json` prints it."""
    return {
        "format": log.format,
        "steps": [step.document() for step in log.steps],
        "problems": [problem.document() for problem in log.problems],
    }


def _table(log: RunLog) -> Group:
    averaged = max((step.interval for step in log.steps), default=1)
    rows = [_HEAD, *map(_cells, log.steps)]
    head, *lines = columns(rows, right=tuple(range(len(_HEAD))))
    count = f"{len(log.steps)} {'record' if averaged > 1 else 'step'}{'' if len(log.steps) == 1 else 's'}"
    notes = [f"format {log.format or 'unknown'}"]
    notes += [f"each the mean of up to {averaged} steps"] if averaged > 1 else []
    notes += [f"{len(log.attempts)} attempts"] if len(log.attempts) > 1 else []
    return Group(Text(", ".join([count, *notes])), Text(head, style="bold"), *map(Text, lines))


def _cells(step: StepRecord) -> tuple[str, ...]:
    times = (step.step_time_s, step.wait_time_s, step.train_time_s)
    values = (step.loss, step.grad_norm)
    return (
        # A number that no run reaches would widen the table until nothing else fits; --json has its digits.
        "?" if step.step is None else str(step.step) if step.step < _ABSURD else f"{step.step:.2e}",
        *("-" if value is None else f"{value:.3f}" for value in times),
        *("-" if value is None else f"{value:.4f}" for value in values),
        "-" if step.lr is None else f"{step.lr:.3g}",
        "-" if step.tokens is None else f"{step.tokens:,}",
        str(step.line),
    )
