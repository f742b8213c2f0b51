"""The one list of families; the module of each is imported when it is first asked for."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

from openrecipes.catalog.families.family import Family

# model_type of the text config: module of this room, and the family's name in it.
_PLACES: Final[Mapping[str, tuple[str, str]]] = {
    "qwen3_5_moe_text": ("qwen3_5", "QWEN3_5_MOE"),
    "qwen3_5_text": ("qwen3_5", "QWEN3_5"),
    "qwen3_next": ("qwen3_next", "QWEN3_NEXT"),
    "qwen3_moe": ("qwen3", "QWEN3_MOE"),
    "qwen3": ("qwen3", "QWEN3"),
    "deepseek_v3": ("deepseek_v3", "DEEPSEEK_V3"),
    "glm4_moe": ("glm4_moe", "GLM4_MOE"),
    "llama": ("llama", "LLAMA"),
}


@cache
def _family(model_type: str) -> Family[Any]:
    module, name = _PLACES[model_type]
    found: Family[Any] = getattr(import_module(f"openrecipes.catalog.families.{module}"), name)
    return found


class _Families(Mapping[str, Family[Any]]):
    """Each family by its model_type. Their functions take their own config classes, so no type names them all."""

    def __getitem__(self, model_type: str) -> Family[Any]:
        return _family(model_type)

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)

    def __contains__(self, model_type: object) -> bool:
        return model_type in _PLACES


FAMILIES: Final[Mapping[str, Family[Any]]] = _Families()
