"""What `render` prints: the command as data, files with their hashes, and how `run` differs."""

from difflib import unified_diff
from typing import Any

from openrecipes import units
from openrecipes.recipe.model import Recipe
from openrecipes.render.argument import Argument
from openrecipes.render.command import Command
from openrecipes.targets.target import Rendered

_DIFF_LINES = 24


def difference(recipe: Recipe, text: str) -> tuple[str, ...]:
    """How the recipe's `run` differs from the text, shortened; nothing where it does not."""
    if recipe.run == text:
        return ()
    written, derived = recipe.run.splitlines(), text.splitlines()
    lines = list(unified_diff(written, derived, "run", "from the fields", n=0, lineterm="")) or [
        "only line ends differ"
    ]
    more = [f"… {units.counted(len(lines) - _DIFF_LINES, 'more line')}"] if len(lines) > _DIFF_LINES else []
    return ("the recipe's run is not what its fields say:", *(f"  {line}" for line in [*lines[:_DIFF_LINES], *more]))


def document(made: Command, rendered: Rendered | None, deviations: tuple[str, ...]) -> dict[str, Any]:
    """The command and the files of its launch as one JSON document."""
    files = rendered.files if rendered else ()
    return {
        "env": {value.name: value.value for value in made.environment},
        "env_kind": {value.name: value.kind for value in made.environment},
        "argv": list(made.argv()),
        "origin": [_origin(argument) for argument in made.arguments],
        "deviations": list(deviations),
        "files": [{"path": file.path, "sha256": file.sha256, "text": file.text} for file in files],
        "render_sha256": rendered.render_sha256 if rendered else None,
    }


def listing(rendered: Rendered) -> str:
    """The files' hashes and paths, in the form that `sha256sum --check` reads."""
    return "".join(f"{file.sha256}  {file.path}\n" for file in rendered.files)


def _origin(argument: Argument) -> dict[str, str | None]:
    return {"flag": argument.flag, "value": " ".join(argument.values) or None, "from": argument.origin}
