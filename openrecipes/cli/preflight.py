"""`preflight`."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from openrecipes.cli import output
from openrecipes.cli.names import recipe_named
from openrecipes.problems import Place, Problem, UsageError, errors_in
from openrecipes.targets.preflight import nodes_wanted, preflight_here, preflight_words, verdict
from openrecipes.targets.profile import THIS_MACHINE
from openrecipes.targets.read_profile import read_profile

app = typer.Typer(add_completion=False)


@app.command()
def preflight(
    *,
    cluster: Annotated[Path | None, typer.Option(help="Cluster profile; without one, this machine.")] = None,
    recipe: Annotated[str | None, typer.Option(help="Recipe that is to run: a file, or its short name.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print every node's report as JSON.")] = False,
) -> None:
    """Check what must hold on every node before GPUs are spent: GPUs, links, fabric, limits, files, versions.

    Example: openrecipes preflight --recipe qwen3.5-moe-mini/cpu/smoke-dp2
    """
    profile = read_profile(cluster) if cluster else THIS_MACHINE
    wanted = recipe_named(recipe).recipe if recipe else None
    words = preflight_words(profile, wanted)
    if profile.target != "local":
        raise UsageError(_inside_the_job(profile.title, words))
    found = verdict([preflight_here(words, profile.python)], wanted=nodes_wanted(wanted))
    output.result(found.document(), as_json=json, text=_table(found.nodes))
    output.problems(found.problems)
    if errors_in(found.problems):
        raise typer.Exit(1)


def _inside_the_job(title: str, words: tuple[str, ...]) -> Problem:
    return Problem(
        place=Place(key="--cluster"),
        rule="preflight-inside",
        what=f"the nodes of {title} are reached only inside a job; a launch checks each of them before it trains",
        mend=f"launch, or run on each node: python3 launch/preflight.py {shlex.join(words)}",
    )


def _table(nodes: tuple[dict[str, Any], ...]) -> Table:
    styles = {"ok": "green", "warn": "yellow", "fail": "bold red", "skipped": "dim"}
    table = Table(box=None, pad_edge=False)
    for name in ("node", "check", "", "value", "why"):
        table.add_column(name)
    for node in nodes:
        for check in node["checks"]:
            value = "" if check["value"] is None else str(check["value"])[:60]
            status = Text(check["status"], style=styles.get(check["status"], ""))
            table.add_row(Text(node["host"]), Text(check["name"]), status, Text(value), Text(check["why"]))
    return table
