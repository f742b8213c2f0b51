"""`launch RECIPE`, `launch --attach RUN_DIR`, `launch --stop RUN_DIR`."""

from pathlib import Path
from typing import Annotated

import typer

from openrecipes.cli import output
from openrecipes.cli.cluster_profile import as_file, recipe_and_place
from openrecipes.cli.launch_page import dry_run, launched
from openrecipes.cli.launching import Asked, attach, begun, ready_to_launch, start, stay, stop_run
from openrecipes.problems import Place, Problem, UsageError

app = typer.Typer(add_completion=False)


@app.command()
def launch(
    recipe: Annotated[str | None, typer.Argument(help="A recipe file, or its short name below recipes/.")] = None,
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
        Path | None, typer.Option(help="Run directory to make; must not exist, or be empty.", show_default="a new one")
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
    dry: Annotated[bool, typer.Option("--dry-run", help="Render, and show what would be submitted.")] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Submit, and do not wait for the end.")] = False,
    attached: Annotated[
        Path | None, typer.Option("--attach", metavar="RUN_DIR", help="Follow what was launched before, to its end.")
    ] = None,
    stopped: Annotated[
        Path | None, typer.Option("--stop", metavar="RUN_DIR", help="End what was launched before; evidence is kept.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before a costly run.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the run record as one JSON document.")] = False,
) -> None:
    """Launch a recipe where a cluster profile says, follow it to its end, and collect its log into a run directory.

    Ctrl-C ends the job and keeps what it left. A job of Slurm or Kubernetes outlives its terminal: attach again.
    Exit status 0 completed, detached or stopped as asked, 1 failed, 130 interrupted.

    Example: openrecipes launch qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32 --cluster launch/clusters/slurm-p5en.yaml
    """
    of_a_launch: dict[str, object] = {
        "--target": target,
        "--cluster": cluster,
        "--set": settings,
        "--run-dir": run_dir,
        "--sft-data": sft_data,
        "--first-step-seconds": first_step_seconds,
        "--allow-shell-env": allow_shell_env,
        "--dry-run": dry,
        "--detach": detach,
    }
    _refuse_unclear({"RECIPE": recipe, "--attach": attached, "--stop": stopped}, of_a_launch)
    if attached is not None or stopped is not None:
        book = attach(attached) if attached else stop_run(stopped or Path())
    else:
        located, place, profile = recipe_and_place(
            recipe or "", target, cluster, settings or (), first_step_seconds=first_step_seconds, is_look=dry
        )
        asked = Asked(
            recipe=located,
            target=target,
            profile=profile,
            settings=tuple(settings or ()),
            run_dir=run_dir,
            sft_data=sft_data,
            allow_shell_env=allow_shell_env,
            agrees_to_cost=yes,
            cluster=place,
            is_example=place is not cluster,
        )
        ready = ready_to_launch(asked, dry=dry)
        if dry:
            rendered, listing = dry_run(asked, ready)
            output.result(rendered, as_json=json, text=listing)
            return
        book = begun(asked, ready)
        job = start(book, ready)
        if not detach:
            stay(book, job, ready.launched)
    document, text = launched(book)
    output.result(document, as_json=json, text=text)
    if book.record.outcome == "failed":
        raise typer.Exit(1)
    if book.record.outcome == "interrupted" and stopped is None:
        raise typer.Exit(130)


def _refuse_unclear(named: dict[str, object], of_a_launch: dict[str, object]) -> None:
    """One of a recipe, a run to attach to, and a run to stop; to a run that was launched, nothing of a launch."""
    there = [name for name, value in named.items() if value is not None]
    if len(there) != 1:
        what = f"{' and '.join(there)} exclude each other" if there else "nothing says what to launch"
        mend = "name one of RECIPE, --attach RUN_DIR and --stop RUN_DIR"
        raise UsageError(Problem(place=Place(), rule="usage", what=what, mend=mend))
    without_effect = [name for name, value in of_a_launch.items() if value] if there != ["RECIPE"] else []
    if without_effect:
        what = f"{', '.join(without_effect)} would change nothing of a run that was launched before"
        raise UsageError(Problem(place=Place(key=there[0]), rule="usage", what=what, mend=f"give {there[0]} alone"))
