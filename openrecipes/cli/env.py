"""`env`."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from openrecipes.cli import output
from openrecipes.stack.block import stack_block
from openrecipes.stack.capture import captured
from openrecipes.stack.captured import Captured

app = typer.Typer(add_completion=False)


@app.command()
def env(
    *,
    timeout: Annotated[float, typer.Option(min=1, help="Most seconds that importing may take.")] = 120,
    json: Annotated[bool, typer.Option("--json", help="Print the stack block and the whole capture as JSON.")] = False,
) -> None:
    """Show what is installed and loaded here: GPUs, driver, CUDA, NCCL, PyTorch, Megatron, network.

    Checkouts are those that SLIME_DIR and MEGATRON_DIR name.

    Example: openrecipes env --json
    """
    document = captured([], timeout)
    found = Captured.of(document)
    block = asdict(stack_block(found))
    output.result({**block, "captured": document}, as_json=json, text=_table(block, found))
    for name, error in found.errors.items():
        output.say(f"{name}: {error}")


def _table(block: dict[str, str | None], found: Captured) -> Table:
    table = Table.grid(padding=(0, 2))
    cards = ", ".join(f"{card.name} ({card.memory_mib} MiB)" for card in found.gpus)
    machine = {
        "gpus": cards or None,
        "cpus": f"{found.cpu.available} of {found.cpu.count} x {found.cpu.name}",
        "system": f"{found.system.name}, {found.system.kernel}",
    }
    for name, value in {**machine, **block}.items():
        table.add_row(Text(name, style="bold"), Text(value or "-"))
    return table
