"""Llama: grouped-query attention and a dense MLP, without biases."""

from typing import Annotated, Literal

from pydantic import Field

from openrecipes.catalog.data_files import CatalogData
from openrecipes.catalog.families import blocks, flags
from openrecipes.catalog.families.family import Family, grouped_query_shape
from openrecipes.catalog.families.fields import GroupedQueryConfig, Rope, RopeBase, Width
from openrecipes.catalog.model_parts import Layer, ModelArgument, Shape
from openrecipes.catalog.tensors import Role, Tensor


class Llama3Rope(CatalogData):
    """Rotary position embedding stretched as in Llama 3.1.

    Megatron holds all but the factor fixed, and slime a897e1f4 does not hand the factor on: the model is built with
    Megatron's default, 8, whatever --rope-scaling-factor says. So another factor cannot be mapped.
    """

    rope_type: Literal["llama3"] = Field(description="Scaling as in Llama 3.1.")
    rope_theta: RopeBase = Field(description="Base of the rotary frequencies.")
    partial_rotary_factor: float = Field(default=1.0, ge=1, le=1, description="The whole head is rotated.")
    factor: float = Field(ge=8, le=8, description="How far positions are stretched; fixed in slime.")
    low_freq_factor: float = Field(ge=1, le=1, description="Fixed in Megatron.")
    high_freq_factor: float = Field(ge=4, le=4, description="Fixed in Megatron.")
    original_max_position_embeddings: Literal[8192] = Field(description="Fixed in Megatron.")


class LlamaConfig(GroupedQueryConfig):
    """Config of model type llama."""

    intermediate_size: Width = Field(description="Inner width of the MLP.")
    rope_parameters: Annotated[Rope | Llama3Rope, Field(discriminator="rope_type")] = Field(
        description="Rotary position embedding."
    )


def _tensors(config: LlamaConfig) -> tuple[Tensor, ...]:
    hidden, inner, layers = config.hidden_size, config.intermediate_size, config.layer_numbers
    return (
        *blocks.ends(config),
        *blocks.layer_norms(config),
        *blocks.grouped_query_attention(layers, config),
        *blocks.gated_mlp("mlp", Role.DENSE_MLP, hidden, inner, layers),
    )


def _shape(config: LlamaConfig) -> Shape:
    layers = (Layer(mixer="full_attention", mlp="dense"),) * config.num_hidden_layers
    return grouped_query_shape(config, layers, ffn_hidden_size=config.intermediate_size)


def _arguments(config: LlamaConfig) -> tuple[ModelArgument, ...]:
    rope = config.rope_parameters
    scaling: tuple[ModelArgument, ...] = ()
    if isinstance(rope, Llama3Rope):
        scaling = (
            flags.switch("--use-rope-scaling", "config.json:rope_parameters.rope_type"),
            flags.field("--rope-scaling-factor", rope.factor, "rope_parameters.factor"),
        )
    return (
        *flags.sizes(config),
        flags.field("--ffn-hidden-size", config.intermediate_size, "intermediate_size"),
        *flags.grouped_query(config),
        *flags.norms(config, zero_centred=False),
        *flags.rotary(rope),
        *scaling,
        *flags.ends(config),
    )


LLAMA = Family(
    model_type="llama",
    causal_lm="LlamaForCausalLM",
    form=LlamaConfig,
    tensors=_tensors,
    shape=_shape,
    arguments=_arguments,
    defaults={"hidden_act": "silu", "tie_word_embeddings": False},
    fixed={"attention_bias": (False,), "mlp_bias": (False,)},
    derived=frozenset({"head_dim", "num_key_value_heads"}),
)
