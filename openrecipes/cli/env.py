"""`env`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from openrecipes.cli import output
from openrecipes.cli.drift_page import drift_page
from openrecipes.cli.names import recipe_named
from openrecipes.cli.pairs import pairs
from openrecipes.compare.drift import drift, stack_of, stated_stack
from openrecipes.compare.job_stack import job_stack
from openrecipes.problems import printable, together
from openrecipes.runs.directory import open_run_directory
from openrecipes.stack.block import stack_block
from openrecipes.stack.capture import captured
from openrecipes.stack.captured import Captured
from openrecipes.write_back.write_stack import write_stack

app = typer.Typer(add_completion=False)


@app.command()
def env(
    *,
    run: Annotated[
        Path | None, typer.Option(metavar="RUN_DIR", help="Not here and now: what its job captured.")
    ] = None,
    against: Annotated[str | None, typer.Option(metavar="RECIPE", help="Compare with a recipe's stack.")] = None,
    write: Annotated[str | None, typer.Option(metavar="RECIPE", help="Write it into the recipe's stack.")] = None,
    force: Annotated[bool, typer.Option("--force", help="With --write: also where less was captured.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="With --against: exit with 1 if a field differs.")] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Most seconds that importing may take.")] = 120,
    json: Annotated[bool, typer.Option("--json", help="Print the stack block and the whole capture as JSON.")] = False,
) -> None:
    """Show what is installed and loaded here, or was in a run's job: GPUs, driver, CUDA, NCCL, PyTorch, network.

    Checkouts are those that SLIME_DIR and MEGATRON_DIR name.

    Example: openrecipes env --against qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32
    """
    recipe, target, directory = together(
        lambda: recipe_named(against) if against else None,
        lambda: recipe_named(write) if write else None,
        lambda: open_run_directory(run) if run else None,
    )
    found = job_stack(directory) if directory else Captured.of(captured([], timeout))
    how = f"inside the job of {run.resolve().name}" if run else "by openrecipes env"
    document: dict[str, Any] = {**asdict(stack_block(found, how)), "captured": found.model_dump(mode="json")}
    parts: list[RenderableType] = [_table(asdict(stack_block(found, how)), found)]
    fields = drift(stated_stack(recipe.recipe.stack), stack_of(found)) if recipe else ()
    if recipe:
        document["drift"] = [field.document() for field in fields]
        parts += [Text(), drift_page(fields, recipe.file)]
    if target:
        written = write_stack(target, found, how, force=force)
        document["written"] = {"file": written.file, "changed": written.changed}
        output.say(f"{written.file}: stack {'written' if written.changed else 'as it was'}")
    output.result(document, as_json=json, text=Group(*parts))
    for name, error in found.errors.items():
        output.say(f"{printable(name)}: {printable(error)}")
    if strict and any(field.status == "different" for field in fields):
        raise typer.Exit(1)


def _table(block: dict[str, str | None], found: Captured) -> Table:
    cards = ", ".join(f"{card.name} ({card.memory_mib} MiB)" for card in found.gpus)
    machine = {
        "gpus": cards or None,
        "cpus": f"{found.cpu.available} of {found.cpu.count} x {found.cpu.name}",
        "system": f"{found.system.name}, {found.system.kernel}",
    }
    shown = {name: value for name, value in block.items() if name not in ("os", "kernel")}
    return pairs((name, value or "-") for name, value in {**machine, **shown}.items())
