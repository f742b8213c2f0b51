"""Models: read from models/*.yaml; parameters, active parameters and Megatron arguments are derived."""

import os
import re
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

from pydantic import Field, JsonValue, ValidationError, model_validator
from yaml import YAMLError

from openrecipes.catalog.data_files import CATALOG_FOLDER, CatalogData, parse_yaml, validate
from openrecipes.catalog.families.family import Family
from openrecipes.catalog.families.fields import TextConfig
from openrecipes.catalog.families.registry import FAMILIES
from openrecipes.catalog.model_parts import ModelArgument, Shape, Tensor
from openrecipes.problems import Place, Problem, ProblemsError, UsageError, nearest

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

    @cached_property
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
    head: dict[str, JsonValue] = {"architectures": [model.family.causal_lm], "model_type": model.family.model_type}
    return head | model.config.stated_fields()


def model(name: str) -> Model:
    """The model of this name, in whatever case.

    Raises: UsageError naming the nearest known one.
    """
    files, slug = _files(), name.lower()
    if is_model_name(name) and slug in files:
        return _load(files[slug])
    # Added files stand by their file's name here: a spoilt one must not hide this mistake.
    known = {slug: _shipped_model(path).name if path.parent == MODEL_FOLDER else slug for slug, path in files.items()}
    close = nearest(slug, known)
    raise UsageError(
        Problem(
            place=Place(key="model"),
            rule="model-known",
            what=f"{name} is not in the catalogue of models",
            mend=f"use {known[close]}" if close else f"use one of {', '.join(known.values())}, or add its config.json",
        )
    )


def find_model(name: str) -> Model | None:
    """The model of this name, in whatever case, or None."""
    path = _files().get(name.lower()) if is_model_name(name) else None
    return None if path is None else _load(path)


def all_models() -> tuple[Model, ...]:
    """Every model of the catalogue, by name: those shipped and those added on this machine."""
    return tuple(_load(path) for _, path in sorted(_files().items()))


def is_model_name(name: str) -> bool:
    """Whether a model may be called so: letters, digits, dots, dashes and underscores, at most 100."""
    return re.fullmatch(_NAME, name) is not None


def own_model_folder() -> Path:
    """Where added models lie: $OPENRECIPES_MODELS, else openrecipes/models in the user's data folder."""
    named = os.environ.get("OPENRECIPES_MODELS")
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(named) if named else Path(data).expanduser() / "openrecipes" / "models"


def _files() -> dict[str, Path]:
    """The file of every model by lower-case name; a shipped one is never replaced by an added one."""
    own = {path.stem: path for path in own_model_folder().glob("*.yaml")}
    return own | {path.stem: path for path in MODEL_FOLDER.glob("*.yaml")}


def _load(path: Path) -> Model:
    if path.parent == MODEL_FOLDER:
        return _shipped_model(path)
    try:
        return model_from(parse_yaml(path.read_text(encoding="utf-8")))
    except (ValidationError, YAMLError, OSError, UnicodeDecodeError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else "cannot be read"
        mend = "add the model again from its config.json, or delete the file"
        raise ProblemsError(Problem(place=Place(file=str(path)), rule="model-entry", what=what, mend=mend)) from error


@lru_cache(maxsize=256)
def _shipped_model(path: Path) -> Model:
    return model_from(parse_yaml(path.read_text(encoding="utf-8")))


def model_from(data: object) -> Model:
    """The model that an entry's data describe.

    Raises: pydantic.ValidationError.
    """
    entry = validate(data, ModelEntry)
    family = FAMILIES[entry.model_type]
    config: TextConfig = validate(entry.config, family.form)
    return Model(entry=entry, family=family, config=config)
