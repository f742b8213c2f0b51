"""`checkpoint prepare|verify RECIPE`."""

from pathlib import Path
from typing import Annotated

import typer

from openrecipes.catalog.models import model
from openrecipes.cli import output
from openrecipes.cli.checkpoint_page import show_outcome, show_rendered, show_verified
from openrecipes.cli.cluster_profile import as_file, profile_asked
from openrecipes.cli.names import recipe_named
from openrecipes.cli.preparing import made, need_in_words
from openrecipes.problems import Place, Problem, UsageError, together
from openrecipes.targets.checkpoint_here import missing_here, named_checkpoint, seen_problems
from openrecipes.targets.preparation import preparation
from openrecipes.targets.read_profile import in_profile, placed_in_profile
from openrecipes.targets.this_machine import this_machine

app = typer.Typer(add_completion=False, no_args_is_help=True)

RecipeName = Annotated[str, typer.Argument(metavar="RECIPE", help="A recipe file, or its short name below recipes/.")]
Cluster = Annotated[
    Path, typer.Option(callback=as_file, help="Cluster profile: where the checkouts and checkpoints lie.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.callback()
def _root() -> None:
    """Prepare or verify the Megatron checkpoint that --ref-load needs.

    Example: openrecipes checkpoint verify qwen3.5-moe-small/h200/openrecipes-tp2-ep2 --cluster node.yaml
    """


@app.command()
def prepare(
    recipe: RecipeName,
    *,
    cluster: Cluster,
    random: Annotated[bool, typer.Option("--random", help="Random weights, from the model's configuration.")] = False,
    nodes: Annotated[
        int | None, typer.Option(min=1, help="Nodes to convert on.", show_default="the fewest that hold the model")
    ] = None,
    gpus: Annotated[
        int | None,
        typer.Option(min=1, help="GPUs of each node.", show_default="here the fewest, on a cluster a node's"),
    ] = None,
    output_dir: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the files of the preparation here, and run nothing.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="With -o: replace files there that differ.")] = False,
    dry: Annotated[bool, typer.Option("--dry-run", help="Show the files and what is needed, and run nothing.")] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Start it, and do not wait for the end.")] = False,
    attach: Annotated[bool, typer.Option("--attach", help="Follow the preparation that goes on already.")] = False,
    work_dir: Annotated[
        Path | None,
        typer.Option(help="Where its files and log are kept.", show_default="the profile's paths.runs, else runs"),
    ] = None,
    json: Json = False,
) -> None:
    """Convert the Hugging Face checkpoint, or make one of random weights, with slime's own converter.

    Runs where the profile says, in its container: here, on hosts of ssh, as a Slurm job, on Kubernetes. One that was
    interrupted is started again by the same command. Exit status 0 whole, 1 refused, 3 the converter failed.

    Example: openrecipes checkpoint prepare qwen3.5-moe-small/h200/openrecipes-tp2-ep2 --cluster node.yaml --random
    """
    _refuse_unclear({"--dry-run": dry, "-o": output_dir, "--detach": detach, "--attach": attach})
    located, profile = together(lambda: recipe_named(recipe), lambda: profile_asked(cluster))
    with placed_in_profile(cluster, profile):
        wanted = preparation(
            located, profile, kind="random" if random else "converted", nodes_wanted=nodes, gpus_wanted=gpus
        )
        output.problems(in_profile(wanted.ready.warnings, cluster, profile))
        output.say(need_in_words(wanted))
        if dry or output_dir:
            output.problems(in_profile(missing_here(wanted, this_machine()), cluster, profile))
            show_rendered(wanted, output_dir, force=force, as_json=json)
            return
        runs = profile.paths.runs if profile.target != "kubernetes" else None
        outcome = made(wanted, parent=work_dir or Path(runs or "runs"), detach=detach, attach=attach)
    show_outcome(wanted, outcome, cluster, as_json=json)


@app.command()
def verify(recipe: RecipeName, *, cluster: Cluster, json: Json = False) -> None:
    """Say whether the profile's checkpoint is whole and is this model's, as far as its files say.

    Example: openrecipes checkpoint verify qwen3.5-moe-small/h200/openrecipes-tp2-ep2 --cluster node.yaml
    """
    shape, profile = together(lambda: model(recipe_named(recipe).recipe.model), lambda: profile_asked(cluster))
    with placed_in_profile(cluster, profile):
        folder = named_checkpoint(profile)
    problems = in_profile(seen_problems(shape, profile, folder), cluster, profile)
    show_verified(folder, problems, as_json=json)


def _refuse_unclear(named: dict[str, object]) -> None:
    """Nothing, if not more than one way to go about a preparation is named; files can be shown and written at once.

    Raises: UsageError.
    """
    there = [name for name, value in named.items() if value]
    if len(there) > 1 and there != ["--dry-run", "-o"]:
        what, mend = f"{' and '.join(there)} exclude each other", "give one of them"
        raise UsageError(Problem(place=Place(), rule="usage", what=what, mend=mend))
