"""`preflight`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from openrecipes.cli import output
from openrecipes.cli.cluster_profile import as_file, profile_asked
from openrecipes.cli.names import recipe_named
from openrecipes.problems import Place, Problem, ProblemsError, UsageError, errors_in, printable, together
from openrecipes.targets.gpu_refusals import gpu_refusals
from openrecipes.targets.placeholders import placeholder_problems
from openrecipes.targets.preflight import nodes_wanted, preflight_here, verdict
from openrecipes.targets.preflight_nodes import reports_of_nodes
from openrecipes.targets.preflight_words import preflight_words
from openrecipes.targets.read_profile import in_profile, placed_in_profile

app = typer.Typer(add_completion=False)


@app.command()
@output.refusal_with(nodes=[])
def preflight(
    *,
    cluster: Annotated[
        Path | None, typer.Option(callback=as_file, help="Cluster profile; without one, this machine.")
    ] = None,
    recipe: Annotated[str | None, typer.Option(help="Recipe that is to run: a file, or its short name.")] = None,
    wait: Annotated[int, typer.Option(min=1, help="Longest wait for nodes of Slurm. Unit: seconds.")] = 300,
    json: Annotated[bool, typer.Option("--json", help="Print every node's report as JSON.")] = False,
) -> None:
    """Check what must hold on every node before GPUs are spent: GPUs, links, fabric, limits, files, versions.

    Reaches this machine, every host of ssh, and nodes that Slurm gives for some minutes. A launch does the same on
    its own nodes, measures the network between them as well, and does not train where a check fails.

    Example: openrecipes preflight --recipe qwen3.5-moe-mini/cpu/smoke-dp2
    """
    profile, wanted = together(lambda: profile_asked(cluster), lambda: recipe_named(recipe).recipe if recipe else None)
    with placed_in_profile(cluster, profile):
        refused = (*placeholder_problems(profile, "error"), *(gpu_refusals(wanted, profile) if wanted else ()))
        if refused:
            raise ProblemsError(*refused)
    words = preflight_words(profile, wanted)
    if profile.target == "kubernetes":
        raise UsageError(_inside_the_job(profile.title))
    if profile.target == "local":
        reports, count = [preflight_here(words, profile.python)], nodes_wanted(wanted)
    else:
        reports = reports_of_nodes(profile, words, wanted, wait_s=wait)
        count = nodes_wanted(wanted) if wanted else len(reports)
    found = verdict(reports, wanted=count, profile=profile)
    found = replace(found, problems=in_profile(found.problems, cluster, profile))
    output.result(found.document(), as_json=json, text=_table(found.nodes))
    output.problems(found.problems)
    if errors_in(found.problems):
        raise typer.Exit(1)


def _inside_the_job(title: str) -> Problem:
    return Problem(
        place=Place(key="--cluster"),
        rule="preflight-inside",
        what=f"the nodes of {title} are reached only inside a job: every pod looks at its node before it trains",
        mend="launch: a failed check ends the run before it trains, and is named in its record and in preflight.json",
    )


def _table(nodes: tuple[dict[str, Any], ...]) -> Table:
    styles = {"ok": "green", "warn": "yellow", "fail": "bold red", "skipped": "dim"}
    table = Table(box=None, pad_edge=False)
    for name in ("node", "check", "", "value", "why"):
        table.add_column(name)
    for node in nodes:
        for check in node["checks"]:
            value = printable(_said(check["value"]))
            value = value if len(value) <= 60 else f"{value[:59]}…"
            status = Text(check["status"], style=styles.get(check["status"], ""))
            host, name, why = (printable(text) for text in (node["host"], check["name"], check["why"]))
            table.add_row(Text(host), Text(name), status, Text(value), Text(why))
    return table


def _said(value: Any) -> str:
    """A check's value in words: it comes as JSON."""
    if isinstance(value, list):
        return ", ".join(map(_said, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {_said(one)}" for key, one in value.items())
    return "" if value is None else str(value)
