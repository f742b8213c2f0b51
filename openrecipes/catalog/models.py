"""Models: read from models/*.yaml; parameters, active parameters and Megatron arguments are derived."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import JsonValue, ValidationError
from yaml import YAMLError

from openrecipes.catalog.data_files import CATALOG_FOLDER, digest_path, parse_yaml
from openrecipes.catalog.model_digest import Digest, digest_of, model_digest_text
from openrecipes.catalog.model_parts import MODEL_NAME, ModelArgument, Shape
from openrecipes.problems import Place, Problem, ProblemsError, UsageError, nearest

if TYPE_CHECKING:
    from openrecipes.catalog.families.family import Family
    from openrecipes.catalog.families.fields import TextConfig
    from openrecipes.catalog.model_entry import ModelEntry, ReadEntry
    from openrecipes.catalog.tensors import Tensor

MODEL_FOLDER: Final = CATALOG_FOLDER / "models"


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model with everything that follows from its config, which is read when something asks for it."""

    name: str
    stated: str = field(repr=False)  # the entry as text, by which models are told apart
    read: "Callable[[], ReadEntry]" = field(repr=False, compare=False)
    digest: Digest | None = None  # what follows, where that is known already

    @cached_property
    def _whole(self) -> "ReadEntry":
        return self.read()

    @property
    def entry(self) -> "ModelEntry":
        """The model as its file states it."""
        return self._whole.entry

    @property
    def family(self) -> "Family[Any]":
        """The architecture."""
        return self._whole.family

    @property
    def config(self) -> "TextConfig":
        """The fields of the config that matter."""
        return self._whole.config

    @property
    def model_type(self) -> str:
        """The text config's model_type."""
        return self.digest["model_type"] if self.digest else self.entry.model_type

    @cached_property
    def tensors(self) -> "tuple[Tensor, ...]":
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
        return self.digest["active_params"] if self.digest else sum(tensor.active_count for tensor in self.tensors)

    def parameter_table(self) -> "tuple[Tensor, ...]":
        """The rows behind params and active_params: name, shape, count, active_count, why_not_active."""
        return self.tensors

    @cached_property
    def shape(self) -> Shape:
        """The sizes that layouts and memory depend on."""
        return self.digest["shape"] if self.digest else self.family.shape(self.config)

    def architecture_arguments(self) -> tuple[ModelArgument, ...]:
        """The Megatron arguments that describe the model, in a fixed order.

        Performance choices (dispatcher, permute fusion, grouped GEMM) belong to the recipe and are not here.
        """
        return self.digest["arguments"] if self.digest else self.family.arguments(self.config)


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
    return re.fullmatch(MODEL_NAME, name) is not None


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
    data = path.read_bytes()
    digest = digest_of(path, data)
    if digest is None:
        return model_from(parse_yaml(data.decode()))
    text = data.decode()
    return Model(name=digest["name"], stated=text, read=lambda: _read(parse_yaml(text)), digest=digest)


def model_from(data: object) -> Model:
    """The model that an entry's data describe.

    Raises: pydantic.ValidationError.
    """
    whole = _read(data)
    return Model(name=whole.entry.name, stated=json.dumps(data, default=str, sort_keys=True), read=lambda: whole)


def _read(data: object) -> "ReadEntry":
    from openrecipes.catalog.model_entry import read_entry  # noqa: PLC0415  (its models take longer to load)

    return read_entry(data)


def model_digests() -> dict[Path, str]:
    """The digest of every shipped model, made from its family, by the path where it lies."""
    return {digest_path(file): _digest_text(file) for file in sorted(MODEL_FOLDER.glob("*.yaml"))}


def _digest_text(file: Path) -> str:
    made = model_from(parse_yaml(file.read_text(encoding="utf-8")))
    digest = Digest(
        name=made.name,
        model_type=made.model_type,
        active_params=made.active_params,
        shape=made.shape,
        arguments=made.architecture_arguments(),
    )
    return model_digest_text(file, digest)
