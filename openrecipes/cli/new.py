"""`new RECIPE --from RECIPE --set KEY=VALUE …`."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Annotated

import typer
from rich.table import Table

from openrecipes.cli import output
from openrecipes.cli.names import recipe_named
from openrecipes.cli.pairs import pairs
from openrecipes.problems import Place, Problem, UsageError, printable, together
from openrecipes.recipe.library import SUFFIX
from openrecipes.recipe.model import Author
from openrecipes.recipe.write import json_ready, plain
from openrecipes.render.setting_problems import SET, Override
from openrecipes.write_back.new_recipe import NewRecipe, new_recipe, taken, write_new

app = typer.Typer(add_completion=False)


@app.command()
def new(
    recipe: Annotated[str, typer.Argument(help="The file to make, or its short name below recipes/.")],
    *,
    source: Annotated[str, typer.Option("--from", metavar="RECIPE", help="The recipe to start from.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key; may be repeated.")
    ] = None,
    author: Annotated[
        str | None, typer.Option(help="Who will measure it.", show_default="the author of --from")
    ] = None,
    author_url: Annotated[str | None, typer.Option(metavar="URL", help="Page of the author.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print file and recipe as one JSON document.")] = False,
) -> None:
    """Make a new, unmeasured recipe from another one: keys set, everything that follows from them derived again.

    Example: openrecipes new qwen3-32b/h200/a-tp4 --from qwen3-32b/h200/openrecipes-tp2-pp4 --author a --set layout.tp=4
    """
    path = _path(recipe)
    located, _ = together(lambda: recipe_named(source), lambda: _refuse_taken(path))
    by_author = _author(located.recipe.author, author, author_url, settings or ())
    made = new_recipe(located, path, (*(settings or ()), *by_author))
    write_new(made)
    document = {
        "file": str(path),
        "changes": list(made.changes),
        "derived": dict(made.origins),
        "recipe": json_ready(plain(made.recipe)),
        "problems": [problem.document() for problem in made.warnings],
    }
    output.result(document, as_json=json, text=_page(made))
    output.problems(made.warnings)
    for verb in ("plan", "run"):
        output.say(f"{'then' if verb == 'run' else 'next'}: openrecipes {verb} {shlex.quote(str(path))}")


def _refuse_taken(path: Path) -> None:
    if os.path.lexists(path):
        raise taken(path)


def _author(old: Author, name: str | None, url: str | None, settings: Sequence[str]) -> list[Override]:
    """What the author's options set; the page of one author does not pass on to another."""

    def told(key: str) -> bool:
        return any(setting.startswith(f"{key}=") for setting in settings)

    def change(option: str, key: str, value: str) -> Override:
        # Beside a --set of the same key both are of one source: two values that differ are a mistake.
        return Override(key=key, text=value, source=SET if told(key) else option)

    changed = [change("--author", "author.name", name)] if name is not None and name != old.name else []
    if url is not None:
        return [*changed, change("--author-url", "author.url", url)] if url != old.url else changed
    loses_page = changed and old.url is not None and not told("author.url")
    return [*changed, change("--author", "author.url", "null")] if loses_page else changed


def _path(name: str) -> Path:
    """The file that a path or a short name means.

    Raises: UsageError for a name that is neither: a short name never leads out of recipes/.
    """
    if name.endswith(SUFFIX) and "\0" not in name:
        return Path(name)
    parts = PurePath(name).parts
    if "/".join(parts) == name and len(parts) == 3 and name.isprintable() and not any(p.startswith(".") for p in parts):
        return Path("recipes", *parts[:-1], f"{parts[-1]}{SUFFIX}")
    what = f"{printable(name) or 'an empty name'} is no short name, MODEL/GPU/AUTHOR-LAYOUT, and no file"
    mend = f"write such a name, which means a file below recipes/, or a path that ends in {SUFFIX}"
    raise UsageError(Problem(place=Place(key="RECIPE"), rule="new-name", what=what, mend=mend))


def _page(made: NewRecipe) -> Table:
    lines = {
        "written": str(made.path),
        "layout": made.recipe.layout.label,
        "status": made.recipe.status,
        **{change.partition("=")[0]: change.partition("=")[2] for change in made.changes},
        **{key: origin for key, origin in made.origins.items() if origin.startswith(("derived", "catalogue"))},
    }
    return pairs(lines.items())
