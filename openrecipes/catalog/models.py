"""Models: read from models/*.yaml; parameters, active parameters and Megatron arguments are derived."""

import re
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from typing import Any, Final

from pydantic import Field, JsonValue, model_validator

from openrecipes.catalog.data_files import CATALOG_FOLDER, CatalogData, parse_yaml, validate
from openrecipes.catalog.families.family import Family
from openrecipes.catalog.families.fields import TextConfig
from openrecipes.catalog.families.registry import FAMILIES
from openrecipes.catalog.model_parts import ModelArgument, Shape, Tensor
from openrecipes.problems import Place, Problem, UsageError, nearest

MODEL_FOLDER: Final = CATALOG_FOLDER / "models"
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"


class ModelEntry(CatalogData):
    """One model as its file states it."""

    name: str = Field(pattern=f"^{_NAME}$", description="The name as a recipe's model writes it.")
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


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model with everything that follows from its config."""

    entry: ModelEntry
    family: Family[Any]
    config: TextConfig

    @property
    def name(self) -> str:
        """The name as recipes write it."""
        return self.entry.name

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """Every kind of weight of the text model, without MTP and vision."""
        return self.family.tensors(self.config)

    @property
    def params(self) -> int:
        """Parameters of the text model, both embeddings included."""
        return sum(tensor.count for tensor in self.tensors)

    @property
    def active_params(self) -> int:
        """Parameters that one token uses: the N of 6N.

        Every weight of two or more dimensions: routed experts times top-k / experts, convolutions and LM head
        included; norms, biases, other vectors and the input embedding not.
        """
        return sum(tensor.active_count for tensor in self.tensors)

    def parameter_table(self) -> tuple[Tensor, ...]:
        """The rows behind params and active_params: name, shape, count, active_count, why_not_active."""
        return self.tensors

    @property
    def shape(self) -> Shape:
        """The sizes that layouts and memory depend on."""
        return self.family.shape(self.config)

    def architecture_arguments(self) -> tuple[ModelArgument, ...]:
        """The Megatron arguments that describe the model, in a fixed order.

        Performance choices (dispatcher, permute fusion, grouped GEMM) belong to the recipe and are not here.
        """
        return self.family.arguments(self.config)


def hf_config(model: Model) -> dict[str, JsonValue]:
    """The text model's Hugging Face config.json as data; transformers builds the causal LM from it."""
    fields: dict[str, JsonValue] = model.config.model_dump(mode="json", exclude_none=True)
    return {"architectures": [model.family.causal_lm], "model_type": model.family.model_type, **fields}


def model(name: str) -> Model:
    """The model of this name, in whatever case.

    Raises: UsageError naming the nearest known one.
    """
    slug = name.lower()
    if re.fullmatch(_NAME, name) and slug in _slugs():
        return _load(slug)
    known = {entry.name.lower(): entry.name for entry in (loaded.entry for loaded in all_models())}
    close = nearest(slug, known)
    raise UsageError(
        Problem(
            place=Place(key="model"),
            rule="model-known",
            what=f"{name} is not in the catalogue of models",
            mend=f"use {known[close]}" if close else f"use one of {', '.join(known.values())}, or add its config.json",
        )
    )


def all_models() -> tuple[Model, ...]:
    """Every model of the catalogue, by name."""
    return tuple(_load(slug) for slug in _slugs())


@lru_cache(maxsize=1)
def _slugs() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in MODEL_FOLDER.glob("*.yaml")))


@lru_cache(maxsize=256)
def _load(slug: str) -> Model:
    return model_from(parse_yaml((MODEL_FOLDER / f"{slug}.yaml").read_text(encoding="utf-8")))


def model_from(data: object) -> Model:
    """The model that an entry's data describe.

    Raises: pydantic.ValidationError.
    """
    entry = validate(data, ModelEntry)
    family = FAMILIES[entry.model_type]
    config: TextConfig = validate(entry.config, family.form)
    return Model(entry=entry, family=family, config=config)
