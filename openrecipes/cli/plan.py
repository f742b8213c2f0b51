"""`plan RECIPE`, and `plan --model M --gpu G --gpus N`."""

from typing import Annotated

import typer

from openrecipes.cli import output
from openrecipes.cli.names import recipe_named
from openrecipes.cli.plan_page import recipe_page, search_page
from openrecipes.plan.document import recipe_document, search_document
from openrecipes.plan.layout_plan import IMBALANCE, OVERHEAD_GIB, plan_recipe
from openrecipes.plan.legal_layouts import Batch
from openrecipes.plan.search import enough_gpus, search
from openrecipes.problems import Place, Problem, UsageError
from openrecipes.render.located import placed_in
from openrecipes.render.overrides import overridden

app = typer.Typer(add_completion=False)


@app.command()
def plan(
    recipe: Annotated[str | None, typer.Argument(help="A recipe file, or its short name below recipes/.")] = None,
    *,
    model: Annotated[str | None, typer.Option(help="Instead of a recipe: a model of the catalogue.")] = None,
    gpu: Annotated[str | None, typer.Option(help="The GPU type, as H200.")] = None,
    gpus: Annotated[int | None, typer.Option(min=1, max=100_000, help="How many of them.")] = None,
    row_tokens: Annotated[int, typer.Option(min=1, max=10_000_000, help="Tokens in a row.")] = 8192,
    global_batch: Annotated[int, typer.Option(min=1, max=10_000_000, help="Rows a step.")] = 128,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe; repeatable.")
    ] = None,
    imbalance: Annotated[
        float, typer.Option(min=1, max=100, help="Tokens of the most loaded expert rank over the mean.")
    ] = IMBALANCE,
    overhead: Annotated[
        float, typer.Option(min=0, max=1000, help="GiB that a GPU holds above PyTorch's allocated peak.")
    ] = OVERHEAD_GIB,
    limit: Annotated[int, typer.Option(min=1, help="Layouts shown to people; --json has all.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Plan memory: does a recipe's layout fit, stage by stage; or every legal layout for so many GPUs, ranked.

    Example: openrecipes plan --model Qwen3.5-397B-A17B --gpu H200 --gpus 128
    """
    given = {"--model": model, "--gpu": gpu, "--gpus": gpus}
    if recipe is not None:
        named = [name for name, value in given.items() if value is not None]
        _refuse(
            f"cannot be given beside the recipe {recipe}, which says its own; --set gpu.count=N changes that", named
        )
        located = recipe_named(recipe)
        with placed_in(located):
            changed = overridden(located.recipe, settings or ())
            found = plan_recipe(changed.recipe, imbalance=imbalance, overhead_gib=overhead)
        for remark in (*changed.deviations, *found.notes):
            output.say(remark)
        document = recipe_document(found, imbalance=imbalance)
        output.result(document, as_json=json, text=recipe_page(found, imbalance=imbalance))
        raise typer.Exit(0 if found.layout.fits else 1)
    if model is None or gpu is None or gpus is None:
        missing = [name for name, value in given.items() if value is None]
        _refuse(
            "is missing, and no recipe is named" if len(missing) == 1 else "are missing, and no recipe is named",
            missing,
        )
        return
    _refuse("has no recipe to change", ["--set"] if settings else [])
    batch = Batch(row_tokens=row_tokens, global_batch=global_batch)
    ranked = search(model, gpu, gpus, batch=batch, imbalance=imbalance, overhead_gib=overhead)
    output.result(search_document(ranked) if json else None, as_json=json, text=search_page(ranked, limit))
    if not any(layout.plan.fits for layout in ranked.ranked):
        enough = enough_gpus(ranked)
        output.say(f"none fits; a layout fits on {enough} x {ranked.gpu}" if enough else "none fits, nor on many more")


def _refuse(why: str, options: list[str]) -> None:
    """Ends the verb if there are options to refuse."""
    if options:
        mend = "name a recipe, or a model, a GPU and how many of them"
        raise UsageError(Problem(place=Place(key=" ".join(options)), rule="usage", what=why, mend=mend))
