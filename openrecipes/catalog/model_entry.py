"""What a model's file states, and the config in it, both validated."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from pydantic import Field, JsonValue, model_validator

from openrecipes.catalog.data_files import CatalogData, validate
from openrecipes.catalog.families.family import Family
from openrecipes.catalog.families.fields import TextConfig
from openrecipes.catalog.families.registry import FAMILIES
from openrecipes.catalog.model_parts import MODEL_NAME


class ModelEntry(CatalogData):
    """One model as its file states it."""

    name: str = Field(pattern=f"^{MODEL_NAME}$", description="The name as a recipe's model writes it.")
    source: str = Field(min_length=1, description="Where the config was read.")
    revision: str | None = Field(description="The revision read there, or null.")
    retrieved: date = Field(description="The day on which it was read.")
    note: str | None = Field(default=None, description="What else a reader needs to know.")
    not_counted: tuple[str, ...] = Field(description="Parts of the checkpoint that are not in these figures.")
    model_type: str = Field(description="The text config's model_type, which names the family.")
    config: dict[str, JsonValue] = Field(description="The text config's fields, as in config.json.")

    @model_validator(mode="after")
    def _family_exists(self) -> "ModelEntry":
        if self.model_type not in FAMILIES:
            raise ValueError(f"model_type {self.model_type} is none of {', '.join(FAMILIES)}")
        return self


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadEntry:
    """An entry with its family, and its config as that family reads it."""

    entry: ModelEntry
    family: Family[Any]
    config: TextConfig


def read_entry(data: object) -> ReadEntry:
    """The entry that plain data describe. Raises: pydantic.ValidationError."""
    entry = validate(data, ModelEntry)
    family = FAMILIES[entry.model_type]
    return ReadEntry(entry=entry, family=family, config=validate(entry.config, family.form))
