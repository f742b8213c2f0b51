"""The keys of a recipe that may be set from outside, and why the others may not."""

from dataclasses import dataclass
from functools import lru_cache
from types import NoneType
from typing import Any, Final, get_args

from openrecipes.recipe.block import Block
from openrecipes.recipe.model import Recipe

MAPPINGS: Final = ("arguments", "env")
_DERIVED: Final = {
    "layout.label": "the degrees",
    "layout.summary": "the layout's fields",
    "layout.highlights": "the layout's fields",
    "result.window_tokens": "window, global_batch and row_tokens",
    "result.active_params.count": "the model",
    "run": "the recipe's fields",
}
_SET_IN_RESULT: Final = ("result.steps_per_run", "result.window")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """Why a key is not set by hand, and what to do instead."""

    what: str
    mend: str


def not_set_by_hand(key: str, text: str) -> Reason | None:
    """The reason, for keys that are derived, measured or fixed, and for whole blocks unless `text` empties them."""
    if key in _DERIVED:
        return Reason(what=f"is derived from {_DERIVED[key]}", mend="leave it out, and set what it follows from")
    block = key.partition(".")[0]
    if block == "correctness" or (block == "result" and key in keys() and key not in _SET_IN_RESULT):
        return Reason(what="is measured, not set", mend="leave it out")
    if key in ("status", "schema_version"):
        return Reason(what="follows from what was measured", mend="leave it out: a changed recipe is unmeasured")
    inside = next((other for other in keys() if other.startswith(f"{key}.")), None)
    if inside is not None and text != "null":
        return Reason(what="is a block of keys", mend=f"set a key in it, as {inside}")
    return None


@lru_cache(maxsize=1)
def keys() -> tuple[str, ...]:
    """Every dotted key of a recipe, blocks before what is in them, without the entries of mappings."""
    return tuple(key for key in _below(Recipe, "") if key not in MAPPINGS)


def split_key(key: str) -> tuple[str, ...]:
    """The parts of a dotted key; an entry of a mapping is one part, dots included."""
    name, _, entry = key.partition(".")
    return (name, entry) if name in MAPPINGS and entry else tuple(key.split("."))


def _below(block: type[Block], prefix: str) -> tuple[str, ...]:
    found: list[str] = []
    for name, info in block.model_fields.items():
        found.append(prefix + name)
        inner = block_of(info.annotation)
        if inner is not None:
            found += _below(inner, f"{prefix}{name}.")
    return tuple(found)


def block_of(annotation: Any) -> type[Block] | None:
    """The block that a field holds, required or optional; None for any other field."""
    options = [item for item in get_args(annotation) or (annotation,) if item is not NoneType]
    only = options[0] if len(options) == 1 else None
    return only if isinstance(only, type) and issubclass(only, Block) else None
