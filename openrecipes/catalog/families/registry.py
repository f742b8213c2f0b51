"""The one list of families."""

from typing import Any, Final

from openrecipes.catalog.families.deepseek_v3 import DEEPSEEK_V3
from openrecipes.catalog.families.family import Family
from openrecipes.catalog.families.glm4_moe import GLM4_MOE
from openrecipes.catalog.families.llama import LLAMA
from openrecipes.catalog.families.qwen3 import QWEN3, QWEN3_MOE
from openrecipes.catalog.families.qwen3_5 import QWEN3_5, QWEN3_5_MOE
from openrecipes.catalog.families.qwen3_next import QWEN3_NEXT

# Each family's functions take its own config class, so a mixed list cannot name them all.
_FAMILIES: Final[tuple[Family[Any], ...]] = (
    QWEN3_5_MOE,
    QWEN3_5,
    QWEN3_NEXT,
    QWEN3_MOE,
    QWEN3,
    DEEPSEEK_V3,
    GLM4_MOE,
    LLAMA,
)
FAMILIES: Final[dict[str, Family[Any]]] = {family.model_type: family for family in _FAMILIES}
