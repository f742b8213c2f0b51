"""The one list of families."""

from typing import Any, Final

from openrecipes.catalog.families.family import Family
from openrecipes.catalog.families.qwen3_5 import QWEN3_5, QWEN3_5_MOE

# Each family's functions take its own config class, so a mixed list cannot name them all.
FAMILIES: Final[dict[str, Family[Any]]] = {family.model_type: family for family in (QWEN3_5_MOE, QWEN3_5)}
