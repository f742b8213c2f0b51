"""The terms of the memory plan in words, read from formulas.yaml: name, formula, and where the formula was read."""

from functools import lru_cache
from pathlib import Path
from typing import Final

from pydantic import Field

from openrecipes.catalog.data_files import CatalogData, parse_yaml, validate

FILE: Final = Path(__file__).with_name("formulas.yaml")


class Formula(CatalogData):
    """What one term counts."""

    name: str = Field(min_length=1, description="The term for people.")
    formula: str = Field(min_length=1, description="Its bytes, in the letters of docs/plan.md.")
    source: str = Field(min_length=1, description="Repository or package, version and file that it was read in.")


class _Formulas(CatalogData):
    static: dict[str, Formula] = Field(description="Weights, gradients and optimizer states.")
    resident: dict[str, Formula] = Field(description="What else stays from the first step on.")
    saved: dict[str, Formula] = Field(description="Activations kept for the backward pass.")
    moments: dict[str, Formula] = Field(description="What is alive only at the instant of the peak.")


@lru_cache(maxsize=1)
def sections() -> dict[str, dict[str, Formula]]:
    """The terms by section, in file order."""
    found = validate(parse_yaml(FILE.read_text(encoding="utf-8")), _Formulas)
    return {"static": found.static, "resident": found.resident, "saved": found.saved, "moments": found.moments}


@lru_cache(maxsize=1)
def formulas() -> dict[str, Formula]:
    """Every term by its key."""
    return {key: formula for section in sections().values() for key, formula in section.items()}
