"""`run RECIPE`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from openrecipes.cli import output
from openrecipes.cli.cluster_profile import as_file, recipe_and_place
from openrecipes.cli.compare_page import compare_page
from openrecipes.cli.compare_subject import against, base_of, refuse_no_base
from openrecipes.cli.drift_page import drift_line
from openrecipes.cli.launching import Asked
from openrecipes.cli.run_page import log_tail, run_page
from openrecipes.cli.whole_loop import whole_loop
from openrecipes.compare.drift import run_drift
from openrecipes.problems import errors_in, together

app = typer.Typer(add_completion=False)


@app.command()
def run(
    recipe: Annotated[str, typer.Argument(help="A recipe file, or its short name below recipes/.")],
    *,
    target: Annotated[
        str | None, typer.Option(help="Where to run: local, ssh, slurm, kubernetes.", show_default="the profile's")
    ] = None,
    cluster: Annotated[
        Path | None, typer.Option(callback=as_file, help="Cluster profile, a file or a shipped one's name.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key for this run; may be repeated.")
    ] = None,
    run_dir: Annotated[
        Path | None,
        typer.Option(help="Run directory to make; must not exist, or be empty.", show_default="below runs/"),
    ] = None,
    sft_data: Annotated[Path | None, typer.Option(help="Rows to train on, instead of building the recipe's.")] = None,
    first_step_seconds: Annotated[
        int | None,
        typer.Option(
            min=1, help="Longest time to the first step. Unit: seconds.", show_default="the profile's, else 3600"
        ),
    ] = None,
    allow_shell_env: Annotated[
        bool, typer.Option("--allow-shell-env", help="Let commands in the recipe's environment run.")
    ] = False,
    against_what: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="published|RECIPE|RUN_DIR",
            help="End with a verdict: reproduced, faster, slower or not comparable with that.",
        ),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the result into the recipe's file too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before a costly run.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print run directory and result as one JSON document.")] = False,
) -> None:
    """Run a recipe: check, build its rows, render, launch, follow, score, and write the result into a copy of it.

    Example: openrecipes run qwen3.5-moe-mini/cpu/smoke-dp2
    """
    (located, _, profile), _ = together(
        lambda: recipe_and_place(recipe, target, cluster, settings or (), first_step_seconds=first_step_seconds),
        lambda: refuse_no_base(against_what) if against_what else None,
    )
    base = base_of(against_what, located) if against_what else None
    ran = whole_loop(
        Asked(
            recipe=located,
            target=target,
            profile=profile,
            settings=tuple(settings or ()),
            run_dir=run_dir,
            sft_data=sft_data,
            allow_shell_env=allow_shell_env,
            agrees_to_cost=yes,
            cluster=cluster,
        ),
        write=write,
    )
    card = ran.card
    document: dict[str, object] = {
        "run_dir": str(ran.run.root),
        "outcome": ran.record.outcome,
        "reason": ran.record.reason,
        "result": card.document() if card and ran.is_scored else None,
        "problems": [problem.document() for problem in ran.problems],
    }
    stack = run_drift(located.recipe.stack, ran.run)
    document["drift"] = [field.document() for field in stack]
    if ran.record.outcome == "failed":
        output.say(f"the end of the log:\n{log_tail(ran.run)}\n")
    page: RenderableType = run_page(located.recipe, ran.run, ran.record, card)
    if any(field.status != "unknown" for field in stack):
        page = Group(page, Text(f"stack against the recipe's: {drift_line(stack)}"))
    if base:
        found = against(base, ran.run.root)
        document["against"] = found.document()
        page = Group(page, Text(), compare_page(found, verdict_last=True))
    output.result(document, as_json=json, text=page)
    output.problems(ran.problems)
    if not ran.is_scored or errors_in(ran.problems):
        raise typer.Exit(130 if ran.record.outcome == "interrupted" else 1)
