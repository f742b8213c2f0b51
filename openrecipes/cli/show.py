"""`show RECIPE`."""

from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from openrecipes import units
from openrecipes.cli import output
from openrecipes.cli.names import recipe_named
from openrecipes.cli.pairs import pairs
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.write import json_ready, plain
from openrecipes.verdict.badge import verdict

app = typer.Typer(add_completion=False)


@app.command()
def show(
    recipe: Annotated[str, typer.Argument(help="A recipe file, or its short name below recipes/.")],
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the recipe as one JSON document.")] = False,
) -> None:
    """Show one recipe: layout, stack, figures, what is still unmeasured.

    Example: openrecipes show qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32
    """
    found = recipe_named(recipe).recipe
    output.result(json_ready(plain(found)), as_json=json, text=_page(found))


def _page(recipe: Recipe) -> Group:
    title = Text(f"{recipe.model} on {recipe.gpu.count} x {recipe.gpu.type}  ({recipe.status})", style="bold")
    return Group(title, pairs(_lines(recipe)))


def _lines(recipe: Recipe) -> list[tuple[str, str]]:
    result, gpu, data, found = recipe.result, recipe.gpu, recipe.workload.dataset, verdict(recipe)
    lines = [
        ("author", recipe.author.name + (f"  {recipe.author.url}" if recipe.author.url else "")),
        ("GPUs", f"{gpu.count} x {gpu.type}, {gpu.per_node} per node" + (f" ({gpu.instance})" if gpu.instance else "")),
        ("layout", recipe.layout.label),
        ("", recipe.layout.summary),
        ("tokens/s per GPU", _or_unmeasured(result.tokens_per_s_per_gpu)),
        ("$ / 1M tokens", _or_unmeasured(result.usd_per_million_tokens)),
        ("MFU", units.percent(result.mfu, 2) if result.mfu is not None else (result.mfu_note or "unmeasured")),
        (
            "step-time CV",
            f"{result.step_time_cv_percent} %" if result.step_time_cv_percent is not None else "unmeasured",
        ),
        ("window", f"steps {result.window[0]}-{result.window[1]} of {result.steps_per_run}"),
        ("GPU-hours", _or_unmeasured(result.gpu_hours)),
        ("measured", str(result.measured or "unmeasured")),
        ("rows", f"{data.build.name}, rows_sha256 {data.rows_sha256 or 'unknown'}"),
        ("correctness", (recipe.correctness.summary if recipe.correctness else None) or "no evidence"),
        ("badge", found.badge + ("" if found.badge == recipe.status else f" (the author claims {recipe.status})")),
        *(("", reason) for reason in found.why),
    ]
    stack = [(f"stack: {name}", str(value)) for name, value in recipe.stack if value is not None]
    env = [(f"env: {name}", value) for name, value in recipe.env.items()]
    return lines + stack + env


def _or_unmeasured(value: float | None) -> str:
    return "unmeasured" if value is None else f"{value:,}"
