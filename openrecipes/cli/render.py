"""`render RECIPE`."""

from difflib import unified_diff
from typing import Annotated, Any

import typer

from openrecipes.catalog.models import model
from openrecipes.cli import output
from openrecipes.cli.names import recipe_named
from openrecipes.recipe.model import Recipe
from openrecipes.render.argument import Argument
from openrecipes.render.command import Command, command, text_of
from openrecipes.render.located import placed_in
from openrecipes.render.model_arguments import notes
from openrecipes.render.overrides import overridden

app = typer.Typer(add_completion=False)

_DIFF_LINES = 24


@app.command()
def render(
    recipe: Annotated[str, typer.Argument(help="A recipe file, or its short name below recipes/.")],
    *,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key; may be repeated.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print environment, argv and origins as JSON.")] = False,
) -> None:
    """Print the command of a recipe, derived from its fields.

    Example: openrecipes render qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32 --set layout.tp=1
    """
    located = recipe_named(recipe)
    with placed_in(located):
        changed = overridden(located.recipe, set_ or [])
        found = model(changed.recipe.model)
        made = command(changed.recipe, found, changed.origins)
    text = text_of(made)
    for note in (*changed.deviations, *notes(changed.recipe, found), *_difference(changed.recipe, text)):
        output.say(note)
    output.result(_document(made), as_json=json, text=text)


def _difference(recipe: Recipe, text: str) -> tuple[str, ...]:
    """How `run` differs from the text, shortened; nothing where it does not."""
    if recipe.run == text:
        return ()
    lines = list(unified_diff(recipe.run.splitlines(), text.splitlines(), "run", "from the fields", n=0, lineterm=""))
    more = f"… {len(lines) - _DIFF_LINES} more lines"
    shown = [*lines[:_DIFF_LINES], *([more] if len(lines) > _DIFF_LINES else [])]
    return ("the recipe's run is not what its fields say:", *(f"  {line}" for line in shown))


def _document(made: Command) -> dict[str, Any]:
    return {
        "env": {value.name: value.value for value in made.environment},
        "env_kind": {value.name: value.kind for value in made.environment},
        "argv": list(made.argv()),
        "origin": [_origin(argument) for argument in made.arguments],
        "files": [],
        "render_sha256": None,
    }


def _origin(argument: Argument) -> dict[str, str | None]:
    return {"flag": argument.flag, "value": " ".join(argument.values) or None, "from": argument.origin}
