"""What follows from the configs of the shipped models, kept beside them: making it again takes most of a short call.

`make docs` writes the digests. One counts only for the very bytes of the model's file that it was made from.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol

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


def digest_path(model_file: Path) -> Path:
    """Where the digest of a model's file lies."""
    return model_file.parent / "digests" / f"{model_file.stem}.json"


def digest_text(model_file: Path, model: Derived) -> str:
    """The digest of a model, from its family: one value a line."""
    shape = asdict(model.shape)
    layers = [[layer.mixer, layer.mlp] for layer in model.shape.layers]
    document = {
        "of_sha256": hashlib.sha256(model_file.read_bytes()).hexdigest(),
        "name": model.name,
        "model_type": model.model_type,
        "active_params": model.active_params,
        "shape": {**shape, "layers": layers},
        "arguments": [[a.flag, a.values, a.origin] for a in model.architecture_arguments()],
    }
    lines = (f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in document.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def digest_of(model_file: Path, data: bytes) -> Digest | None:
    """The digest of a model's file with these bytes; None where there is none, or one of other bytes."""
    try:
        document = json.loads(digest_path(model_file).read_bytes())
    except OSError:
        return None
    if document["of_sha256"] != hashlib.sha256(data).hexdigest():
        return None
    return Digest(
        name=document["name"],
        model_type=document["model_type"],
        active_params=document["active_params"],
        shape=_shape(document["shape"]),
        arguments=tuple(ModelArgument(flag=f, values=tuple(v), origin=o) for f, v, o in document["arguments"]),
    )


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
