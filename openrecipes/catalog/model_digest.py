"""What follows from the configs of the shipped models, kept beside them: making it again takes most of a short call."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol

from openrecipes.catalog.data_files import digest_text, digested
from openrecipes.catalog.model_parts import LatentAttention, Layer, LinearAttention, ModelArgument, Shape


class Derived(Protocol):
    """A model as far as a digest holds it."""

    @property
    def name(self) -> str:
        """The name as recipes write it."""

    @property
    def model_type(self) -> str:
        """The text config's model_type."""

    @property
    def shape(self) -> Shape:
        """The sizes."""

    @property
    def active_params(self) -> int:
        """Parameters that one token uses."""

    @property
    def architecture_arguments(self) -> Callable[[], tuple[ModelArgument, ...]]:
        """The Megatron arguments."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Digest:
    """What most verbs ask of a model."""

    name: str
    model_type: str
    active_params: int
    shape: Shape
    arguments: tuple[ModelArgument, ...]


def model_digest_text(model_file: Path, model: Derived) -> str:
    """The digest of a model, from its family."""
    value = {
        "name": model.name,
        "model_type": model.model_type,
        "active_params": model.active_params,
        "shape": {**asdict(model.shape), "layers": [[layer.mixer, layer.mlp] for layer in model.shape.layers]},
        "arguments": [[a.flag, a.values, a.origin] for a in model.architecture_arguments()],
    }
    return digest_text(model_file, value)


def digest_of(model_file: Path, data: bytes) -> Digest | None:
    """The digest of a model's file with these bytes; None where there is none, or one of other bytes."""
    value = digested(model_file, data)
    if value is None:
        return None
    arguments = (ModelArgument(flag=f, values=tuple(v), origin=o) for f, v, o in value["arguments"])
    return Digest(**{**value, "shape": _shape(value["shape"]), "arguments": tuple(arguments)})


def _shape(sizes: dict[str, Any]) -> Shape:
    linear, latent = sizes["linear_attention"], sizes["latent_attention"]
    parts = {
        "layers": tuple(_layer(mixer, mlp) for mixer, mlp in sizes["layers"]),
        "linear_attention": LinearAttention(**linear) if linear else None,
        "latent_attention": LatentAttention(**latent) if latent else None,
    }
    return Shape(**{**sizes, **parts})


@lru_cache(maxsize=16)
def _layer(
    mixer: Literal["full_attention", "linear_attention", "latent_attention"], mlp: Literal["dense", "moe"]
) -> Layer:
    return Layer(mixer=mixer, mlp=mlp)
