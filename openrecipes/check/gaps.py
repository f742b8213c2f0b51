"""What a recipe with fields that could not be read still says of its command: the flags that those do not decide.

filled(recipe)              -> Recipe, a stand-in in the place of each such field
unknown_flags(located)      -> the flags whose value is then a stand-in's, or may be
"""

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin

from openrecipes.recipe.block import Block
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.render.ownership import FIELD_OF, SMOKE_FIELD_OF
from openrecipes.render.settings import flag_of

Block_ = TypeVar("Block_", bound=Block)

# Flags that more fields have a say in than the one that decides them.
_ALSO: Final[Mapping[str, str]] = {
    "--actor-num-nodes": "gpu.per_node",
    "--actor-num-gpus-per-node": "gpu.count",
    "--num-gpus-per-node": "gpu.count",
    "--overlap-cpu-optimizer-d2h-h2d": "layout.offload",
    "--fp8-recipe": "workload.precision",
    "--moe-permute-fusion": "layout.summary",
}
_STAND_INS: Final[Mapping[Any, Any]] = {int: 1, float: 1.0, str: "", bool: False}


def filled(recipe: Recipe) -> Recipe:
    """The recipe with a stand-in for each field that could not be read; whole blocks stay absent."""
    return _filled(recipe)


def unknown_flags(located: LocatedRecipe) -> frozenset[str]:
    """Every flag that a field has a say in which could not be read, and those of unreadable entries of `arguments`."""
    if located.complete:
        return frozenset()
    fields = SMOKE_FIELD_OF if getattr(located.recipe, "trainer", None) == "smoke" else FIELD_OF
    decided = (flag for table in (fields, _ALSO) for flag, key in table.items() if is_unread(located, key))
    return frozenset((*decided, *map(flag_of, located.unread_in("arguments"))))


def is_unread(located: LocatedRecipe, key: str) -> bool:
    """Whether the value of a dotted key, or a part of it, or what it is a part of, could not be read."""
    path = tuple(key.split("."))
    return any(path[: len(place)] == place[: len(path)] for place in located.unread)


def _filled(block: Block_) -> Block_:
    stands: dict[str, Any] = {}
    for name, info in type(block).model_fields.items():
        held = getattr(block, name, ...)
        if held is ...:
            stands |= _stand_in(name, info.annotation)
        elif isinstance(held, Block):
            stands[name] = _filled(held)
    return block.model_copy(update=stands)


def _stand_in(name: str, annotation: Any) -> dict[str, Any]:
    """A value of the field's kind; nothing where no single value can be one, as for a block."""
    kind, inner = get_origin(annotation), get_args(annotation)
    if kind in (Union, UnionType):
        return {name: None} if NoneType in inner else _stand_in(name, inner[0])
    if kind is Literal:
        return {name: inner[0]}
    if annotation in _STAND_INS:
        return {name: _STAND_INS[annotation]}
    return {name: {}} if kind is not None and issubclass(kind, Mapping) else {}
