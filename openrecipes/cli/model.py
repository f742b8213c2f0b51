"""`model show M` and `model add CONFIG_JSON`."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from openrecipes import units
from openrecipes.catalog.adding import add_model
from openrecipes.catalog.model_document import ModelDocument, model_document
from openrecipes.catalog.models import model
from openrecipes.cli import output
from openrecipes.cli.columns import beside, columns, prose

_ARGUMENT = 29
app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def _root() -> None:
    """Show a model of the catalogue, or add one: parameters, active parameters, Megatron arguments.

    Example: openrecipes model show Qwen3.5-397B-A17B
    """


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="The model's name in the catalogue.")],
    *,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show a model: parameters, active parameters and Megatron arguments, with the origin of every value.

    Example: openrecipes model show Qwen3.5-397B-A17B
    """
    document = model_document(model(name))
    output.result(document, as_json=json, text=_page(document))


@app.command()
def add(
    config: Annotated[Path, typer.Argument(metavar="CONFIG_JSON", help="The model's Hugging Face config.json.")],
    *,
    name: Annotated[str | None, typer.Option(help="The name that recipes will use; default: from the file.")] = None,
    source: Annotated[str | None, typer.Option(help="Where the config comes from, as a URL.")] = None,
    revision: Annotated[str | None, typer.Option(help="The revision read there.")] = None,
    output_folder: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Folder for the entry; default: your own.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a model added before.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Add a model to the catalogue from its config.json; only the text part is counted.

    Example: openrecipes model add config.json --name Qwen3-8B --source https://huggingface.co/Qwen/Qwen3-8B
    """
    added = add_model(
        config,
        today=date.today(),
        name=name,
        source=source,
        revision=revision,
        folder=output_folder,
        replace=replace,
    )
    output.say(f"wrote {added.path}" if added.path else f"{added.model.name} is in the catalogue already")
    for part in added.model.entry.not_counted:
        output.say(f"not counted: {part}")
    document = model_document(added.model)
    output.result(document, as_json=json, text=_page(document))


def _page(document: ModelDocument) -> str:
    revision = f" at {document['revision']}" if document["revision"] else ""
    return "\n".join(
        (
            document["model"],
            f"{units.thousands(document['params'])} parameters ({document['family']})",
            prose(
                f"{units.thousands(document['active_params'])} active parameters a token: the weights of two or more "
                "dimensions that a token is multiplied with"
            ),
            prose(f"from {document['source']}{revision}, read {document['retrieved']}"),
            *(f"not counted: {part}" for part in document["not_counted"]),
            "",
            "of each layer that has it, and outside the layers once:",
            *_tensors(document),
            "",
            *_arguments(document),
        )
    )


def _tensors(document: ModelDocument) -> tuple[str, ...]:
    rows = [("weight", "shape", "times", "parameters", "active")]
    for row in document["tensors"]:
        name = row["name"].removeprefix("model.").removeprefix("layers.*.").removesuffix(".weight")
        active = units.thousands(row["active_params"]) if row["active_params"] else "-"
        shape, times = "x".join(map(str, row["shape"])), units.thousands(row["each"])
        rows.append((name, shape, times, units.thousands(row["params"]), active))
    return columns(rows, right=(2, 3, 4))


def _arguments(document: ModelDocument) -> Iterator[str]:
    rows = [("Megatron argument", "from")]
    rows.extend((f"{row['flag']} {row['value'] or ''}".rstrip(), row["from"]) for row in document["origin"])
    return beside(rows, left=_ARGUMENT)
