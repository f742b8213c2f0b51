"""The config fields that every family has, with their meaning; a family adds its own."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic_core import PydanticCustomError

from openrecipes.catalog.data_files import CatalogData

# Bounds far above any real model: what exceeds them is a slip, and building its tensors would take the memory.
Width = Annotated[int, Field(gt=0, le=10_000_000)]
Heads = Annotated[int, Field(gt=0, le=1_000_000)]
LayerCount = Annotated[int, Field(gt=0, le=10_000)]
ExpertCount = Annotated[int, Field(gt=0, le=100_000)]


def require_divides(config: CatalogData, whole: str, part: str) -> None:
    """Refuses a config in which the field `part` does not divide the field `whole`."""
    if getattr(config, whole) % getattr(config, part):
        raise disagreement(config, whole, part, "does not divide by")


def require_at_most(config: CatalogData, small: str, large: str) -> None:
    """Refuses a config in which the field `small` exceeds the field `large`."""
    if getattr(config, small) > getattr(config, large):
        raise disagreement(config, small, large, "exceeds")


def require_length(config: CatalogData, items: str, count: str) -> None:
    """Refuses a config in which the list `items` has not `count` items."""
    if len(getattr(config, items)) != getattr(config, count):
        what = f"{len(getattr(config, items))} items, but {count} is {getattr(config, count)}"
        raise PydanticCustomError("fields_disagree", "{what}", {"field": items, "what": what})


def disagreement(config: CatalogData, field: str, other: str, relation: str) -> PydanticCustomError:
    """The error that names two fields, their values and what is wrong between them."""
    what = f"{getattr(config, field)} {relation} {other} {getattr(config, other)}"
    return PydanticCustomError("fields_disagree", "{what}", {"field": field, "what": what})


class Rope(CatalogData):
    """Rotary position embedding without scaling."""

    rope_type: Literal["default"] = Field(default="default", description="No scaling.")
    rope_theta: float = Field(gt=0, le=1e12, description="Base of the rotary frequencies.")
    partial_rotary_factor: float = Field(default=1.0, gt=0, le=1, description="Share of the head that is rotated.")


class TextConfig(CatalogData):
    """Fields that every decoder has, named as in config.json."""

    vocab_size: Width = Field(description="Rows of the embedding.")
    hidden_size: Width = Field(description="Width of the residual stream.")
    num_hidden_layers: LayerCount = Field(description="Decoder layers.")
    num_attention_heads: Heads = Field(description="Query heads of a full-attention layer.")
    hidden_act: Literal["silu"] = Field(description="Activation of the gated MLPs.")
    rms_norm_eps: float = Field(gt=0, lt=1, description="Epsilon of every RMSNorm.")
    tie_word_embeddings: bool = Field(description="Whether the LM head is the embedding.")
    max_position_embeddings: Width | None = Field(default=None, description="Longest row stated for the model.")


class GroupedQueryFields(CatalogData):
    """Attention with fewer key-value heads than query heads."""

    num_key_value_heads: Heads = Field(description="Key-value heads of a full-attention layer.")
    head_dim: Width = Field(description="Width of one head.")


class GatedDeltaNetFields(CatalogData):
    """Linear attention by gated delta net, between full-attention layers."""

    layer_types: tuple[Literal["linear_attention", "full_attention"], ...] = Field(
        max_length=10_000, description="The mixer of each layer."
    )
    linear_conv_kernel_dim: Annotated[int, Field(gt=0, le=1024)] = Field(description="Taps of the convolution.")
    linear_num_key_heads: Heads = Field(description="Key heads of a linear-attention layer.")
    linear_key_head_dim: Width = Field(description="Width of a key head.")
    linear_num_value_heads: Heads = Field(description="Value heads of a linear-attention layer.")
    linear_value_head_dim: Width = Field(description="Width of a value head.")


class RoutedExpertFields(CatalogData):
    """Experts that a router chooses, as the Qwen families name them."""

    num_experts: ExpertCount = Field(description="Routed experts of a layer.")
    num_experts_per_tok: ExpertCount = Field(description="Routed experts that one token uses.")
    moe_intermediate_size: Width = Field(description="Inner width of a routed expert.")
