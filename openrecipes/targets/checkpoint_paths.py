"""Checkpoint paths of a place that plainly name another model than the recipe's."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from openrecipes.catalog.models import all_models
from openrecipes.problems import Place, Problem
from openrecipes.targets.target import Launch

_PATHS: Final = {"hf_checkpoint": "$HF_CKPT", "torch_dist": "$TORCH_DIST"}
# A model of one's own may be called `base`, and a folder too.
_SHORTEST_NAME: Final = 6


def checkpoint_warnings(launch: Launch) -> Iterator[Problem]:
    """A word for each path that the trainer reads; whether the checkpoint is the model's, its files say on the node.

    None for the smoke trainer, which reads no checkpoint.
    """
    if launch.recipe.trainer == "smoke":
        return
    named = {value for argument in launch.command.arguments if argument.is_variable for value in argument.values}
    for field, variable in _PATHS.items():
        path = getattr(launch.profile.paths, field)
        other = other_model(path, launch.model.name) if path is not None and variable in named else None
        if other is not None:
            yield Problem(
                place=Place(file=launch.profile.title, key=f"paths.{field}"),
                rule="target-checkpoint",
                what=f"{path} reads like {other}, but the recipe trains {launch.model.name}",
                mend=f"name the checkpoint of {launch.model.name}; if it is that one, go on",
                severity="warning",
            )


def other_model(path: str, own: str) -> str | None:
    """The catalogue's model that the last telling part of a path names, where no part of it names our own."""
    parts = PurePosixPath(path).parts
    if any(_names(part, own) for part in parts):
        return None
    others = [one.name for one in all_models() if any(map(str.isdigit, one.name)) and len(one.name) >= _SHORTEST_NAME]
    for part in reversed(parts):
        found = [name for name in others if _names(part, name)]
        if found:
            return max(found, key=len)
    return None


def _names(part: str, name: str) -> bool:
    """Whether a part of a path holds the whole name, as `Qwen3-32B_torch_dist` does."""
    one, other = (text.lower().replace("_", "-") for text in (part, name))
    return re.search(rf"(?<![a-z0-9.]){re.escape(other)}(?![a-z0-9]|\.[0-9])", one) is not None
