"""What follows from the configs of the shipped models, kept beside them: making it again takes most of a short call."""

from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypedDict

from openrecipes.catalog.data_files import digest_text, digested
from openrecipes.catalog.model_parts import LatentAttention, Layer, LinearAttention, ModelArgument, Shape


class Digest(TypedDict):
    """What most verbs ask of a model."""

    name: str
    model_type: str
    active_params: int
    shape: Shape
    arguments: tuple[ModelArgument, ...]


def model_digest_text(model_file: Path, digest: Digest) -> str:
    """The text of the digest of a model's file."""
    layers = [[layer.mixer, layer.mlp] for layer in digest["shape"].layers]
    arguments = [[argument.flag, argument.values, argument.origin] for argument in digest["arguments"]]
    shape = {**asdict(digest["shape"]), "layers": layers}
    return digest_text(model_file, {**digest, "shape": shape, "arguments": arguments})


def digest_of(model_file: Path, data: bytes) -> Digest | None:
    """The digest of a model's file with these bytes; None where there is none, or one of other bytes."""
    value = digested(model_file, data)
    if value is None:
        return None
    return Digest(
        name=value["name"],
        model_type=value["model_type"],
        active_params=value["active_params"],
        shape=_shape(value["shape"]),
        arguments=tuple(ModelArgument(flag=f, values=tuple(v), origin=o) for f, v, o in value["arguments"]),
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
