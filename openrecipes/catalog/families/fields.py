"""The config fields that every family has, with their meaning; a family adds its own."""

from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from openrecipes.catalog.data_files import CatalogData

# Bounds far above any real model: what exceeds them is a slip, and building its tensors would take the memory.
Width = Annotated[int, Field(gt=0, le=10_000_000)]
Heads = Annotated[int, Field(gt=0, le=1_000_000)]
LayerCount = Annotated[int, Field(gt=0, le=10_000)]
ExpertCount = Annotated[int, Field(gt=0, le=100_000)]
# Megatron's --rotary-base is a whole number.
RopeBase = Annotated[float, Field(gt=0, le=1e12, multiple_of=1)]


def require_divides(config: CatalogData, whole: str, part: str) -> None:
    """Refuses a config in which the field `part` does not divide the field `whole`."""
    if getattr(config, whole) % getattr(config, part):
        raise disagreement(config, whole, part, "does not divide by")


def require_at_most(config: CatalogData, small: str, large: str) -> None:
    """Refuses a config in which the field `small` exceeds the field `large`."""
    if getattr(config, small) > getattr(config, large):
        raise disagreement(config, small, large, "exceeds")


def require_below(config: CatalogData, small: str, large: str) -> None:
    """Refuses a config in which the field `small` is not below the field `large`."""
    if getattr(config, small) >= getattr(config, large):
        raise disagreement(config, small, large, "is not below")


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
    rope_theta: RopeBase = Field(description="Base of the rotary frequencies.")
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

    def stated_fields(self) -> dict[str, JsonValue]:
        """The fields as config.json has them; null only where null has a meaning of its own."""
        stated: dict[str, JsonValue] = self.model_dump(mode="json")
        required = {name for name, info in type(self).model_fields.items() if info.is_required()}
        return {name: value for name, value in stated.items() if value is not None or name in required}

    @property
    def layer_numbers(self) -> tuple[int, ...]:
        """The decoder layers, from 0."""
        return tuple(range(self.num_hidden_layers))


class GroupedQueryConfig(TextConfig):
    """Attention with fewer key-value heads than query heads."""

    num_key_value_heads: Heads = Field(description="Key-value heads of a full-attention layer.")
    head_dim: Width = Field(description="Width of one head.")

    @model_validator(mode="after")
    def _heads_agree(self) -> Self:
        require_divides(self, "num_attention_heads", "num_key_value_heads")
        return self


class GatedDeltaNetConfig(GroupedQueryConfig):
    """Linear attention by gated delta net, between gated full-attention layers."""

    layer_types: tuple[Literal["linear_attention", "full_attention"], ...] = Field(
        max_length=10_000, description="The mixer of each layer."
    )
    linear_conv_kernel_dim: Annotated[int, Field(gt=0, le=1024)] = Field(description="Taps of the convolution.")
    linear_num_key_heads: Heads = Field(description="Key heads of a linear-attention layer.")
    linear_key_head_dim: Width = Field(description="Width of a key head.")
    linear_num_value_heads: Heads = Field(description="Value heads of a linear-attention layer.")
    linear_value_head_dim: Width = Field(description="Width of a value head.")
    rope_parameters: Rope = Field(description="Rotary position embedding of the full-attention layers.")

    @model_validator(mode="after")
    def _layers_agree(self) -> Self:
        require_divides(self, "linear_num_value_heads", "linear_num_key_heads")
        require_length(self, "layer_types", "num_hidden_layers")
        return self

    def layers_of(self, kind: Literal["linear_attention", "full_attention"]) -> tuple[int, ...]:
        """The layers with this mixer, from 0."""
        return tuple(layer for layer, found in enumerate(self.layer_types) if found == kind)


class RoutedExpertFields(CatalogData):
    """Experts that a router chooses, as the Qwen families name them."""

    num_experts: ExpertCount = Field(description="Routed experts of a layer.")
    num_experts_per_tok: ExpertCount = Field(description="Routed experts that one token uses.")
    moe_intermediate_size: Width = Field(description="Inner width of a routed expert.")

    @model_validator(mode="after")
    def _experts_agree(self) -> Self:
        require_at_most(self, "num_experts_per_tok", "num_experts")
        return self


class SparseStepConfig(GroupedQueryConfig, RoutedExpertFields):
    """Experts in every n-th layer, except where a layer is named dense."""

    intermediate_size: Width = Field(description="Inner width of the MLP of layers without experts.")
    decoder_sparse_step: LayerCount = Field(description="Every n-th layer has experts.")
    mlp_only_layers: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        max_length=10_000, description="Layers that have a dense MLP all the same, from 0."
    )
    norm_topk_prob: bool = Field(description="Whether the chosen experts' probabilities are scaled to sum to 1.")

    @model_validator(mode="after")
    def _some_experts(self) -> Self:
        if not self.sparse_layers:
            what = f"{self.decoder_sparse_step} leaves no layer with experts among {self.num_hidden_layers}"
            raise PydanticCustomError("fields_disagree", "{what}", {"field": "decoder_sparse_step", "what": what})
        return self

    @property
    def sparse_layers(self) -> tuple[int, ...]:
        """The layers with experts, from 0."""
        dense = set(self.mlp_only_layers)
        return tuple(i for i in self.layer_numbers if i not in dense and (i + 1) % self.decoder_sparse_step == 0)

    @property
    def dense_layers(self) -> tuple[int, ...]:
        """The layers without experts, from 0."""
        sparse = set(self.sparse_layers)
        return tuple(layer for layer in self.layer_numbers if layer not in sparse)
