"""`checkpoint prepare|verify RECIPE`."""

from pathlib import Path
from typing import Annotated

import typer

from openrecipes.catalog.models import Model, model
from openrecipes.cli import output
from openrecipes.cli.names import recipe_named
from openrecipes.problems import OutsideError, Place, Problem
from openrecipes.targets.checkpoint import ENTRY, checkpoint_problems, read_manifest, rendered_checkpoint
from openrecipes.targets.profile import Profile
from openrecipes.targets.read_profile import read_profile
from openrecipes.targets.submit import run_here, write_rendered

app = typer.Typer(add_completion=False, help="The Megatron checkpoint that --ref-load needs.")

RecipeName = Annotated[str, typer.Argument(metavar="RECIPE", help="A recipe file, or its short name below recipes/.")]
Cluster = Annotated[Path, typer.Option(help="Cluster profile: where the checkouts and checkpoints lie.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
def prepare(
    recipe: RecipeName,
    *,
    cluster: Cluster,
    random: Annotated[bool, typer.Option("--random", help="Random weights, from the model's configuration.")] = False,
    gpus: Annotated[int, typer.Option(min=1, help="GPUs of this machine to convert with.")] = 1,
    output_dir: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the files of the preparation here, and run nothing.")
    ] = None,
    work_dir: Annotated[Path, typer.Option(help="Where the files of the preparation are kept.")] = Path("runs"),
    json: Json = False,
) -> None:
    """Convert the Hugging Face checkpoint, or make one of random weights, with slime's own converter.

    Example: openrecipes checkpoint prepare qwen3.5-moe-small/h200/openrecipes-tp2-ep2 --cluster node.yaml --random
    """
    shape, profile = model(recipe_named(recipe).recipe.model), read_profile(cluster)
    rendered = rendered_checkpoint(shape, profile, kind="random" if random else "converted", gpus=gpus)
    folder = output_dir or work_dir / f"checkpoint-{shape.name.lower()}-{rendered.render_sha256[:12]}"
    if output_dir or not (folder / ENTRY).exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_rendered(rendered, folder)
    if output_dir:
        output.result(
            {"path": str(folder), "kind": "rendered", "ok": True, "problems": []}, as_json=json, text=f"{folder}"
        )
        return
    ended = run_here(folder / ENTRY)
    if ended:
        what = f"the preparation ended with status {ended}"
        mend = "read what it printed above; run it where the checkouts and a GPU are, or write its files with -o"
        raise OutsideError(Problem(place=Place(file=str(folder / ENTRY)), rule="checkpoint-made", what=what, mend=mend))
    _report(shape, profile, as_json=json)


@app.command()
def verify(recipe: RecipeName, *, cluster: Cluster, json: Json = False) -> None:
    """Say whether the profile's checkpoint is whole and is this model's, as far as its files say.

    Example: openrecipes checkpoint verify qwen3.5-moe-small/h200/openrecipes-tp2-ep2 --cluster node.yaml
    """
    _report(model(recipe_named(recipe).recipe.model), read_profile(cluster), as_json=json)


def _report(shape: Model, profile: Profile, *, as_json: bool) -> None:
    folder = Path(profile.paths.torch_dist or "")
    problems = tuple(checkpoint_problems(shape, folder))
    said = read_manifest(folder) or {}
    kind = str(said.get("kind", "unknown"))
    document = {
        "path": str(folder),
        "kind": kind,
        "ok": not problems,
        "problems": [problem.document() for problem in problems],
    }
    output.result(document, as_json=as_json, text=f"{folder}: {kind} weights" if not problems else "")
    output.problems(problems)
    if problems:
        raise typer.Exit(1)
