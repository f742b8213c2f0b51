"""Megatron arguments from config fields, each with its origin, in the order in which they are written."""

from collections.abc import Sequence
from itertools import groupby
from typing import Protocol

from openrecipes import units
from openrecipes.catalog.families.fields import GroupedQueryConfig, RoutedExpertFields, TextConfig
from openrecipes.catalog.model_parts import ModelArgument

_SLIME = "slime convention"


class RotaryFields(Protocol):
    """What every form of rotary position embedding says, scaled or not."""

    @property
    def rope_theta(self) -> float:
        """Base of the rotary frequencies."""

    @property
    def partial_rotary_factor(self) -> float:
        """Share of the head that is rotated."""


def field(flag: str, value: float | str, name: str) -> ModelArgument:
    """An argument whose value is a config field's."""
    text = value if isinstance(value, str) else units.on_a_command_line(value)
    return ModelArgument(flag=flag, values=(text,), origin=f"config.json:{name}")


def switch(flag: str, origin: str) -> ModelArgument:
    """An argument without a value."""
    return ModelArgument(flag=flag, values=(), origin=origin)


def architecture(flag: str, *values: str, why: str) -> ModelArgument:
    """An argument that follows from the architecture, not from a field."""
    return ModelArgument(flag=flag, values=values, origin=f"architecture: {why}")


def convention(flag: str, *values: str, why: str) -> ModelArgument:
    """An argument that slime's own model scripts set, whatever the config says."""
    return ModelArgument(flag=flag, values=values, origin=f"{_SLIME}: {why}")


def sizes(config: TextConfig) -> tuple[ModelArgument, ...]:
    """Depth and width."""
    return (
        field("--num-layers", config.num_hidden_layers, "num_hidden_layers"),
        field("--hidden-size", config.hidden_size, "hidden_size"),
    )


def grouped_query(config: GroupedQueryConfig) -> tuple[ModelArgument, ...]:
    """Query heads, key-value heads and head width."""
    return (
        switch("--group-query-attention", "config.json:num_key_value_heads"),
        field("--num-attention-heads", config.num_attention_heads, "num_attention_heads"),
        field("--num-query-groups", config.num_key_value_heads, "num_key_value_heads"),
        field("--kv-channels", config.head_dim, "head_dim"),
    )


def norms(config: TextConfig, *, zero_centred: bool) -> tuple[ModelArgument, ...]:
    """No biases in linear layers; RMSNorm, whose stored weight is w - 1 where `zero_centred`."""
    centred = architecture("--apply-layernorm-1p", why="RMSNorm multiplies by 1 + weight")
    return (
        architecture("--disable-bias-linear", why="linear layers have no bias"),
        architecture("--normalization", "RMSNorm", why="RMSNorm everywhere"),
        *((centred,) if zero_centred else ()),
        field("--norm-epsilon", config.rms_norm_eps, "rms_norm_eps"),
    )


def rotary(rope: RotaryFields) -> tuple[ModelArgument, ...]:
    """Rotary position embedding: share of the head and base."""
    return (
        architecture("--position-embedding-type", "rope", why="rotary position embedding"),
        field("--rotary-percent", rope.partial_rotary_factor, "rope_parameters.partial_rotary_factor"),
        field("--rotary-base", int(rope.rope_theta), "rope_parameters.rope_theta"),
    )


def ends(config: TextConfig) -> tuple[ModelArgument, ...]:
    """Activation, embedding and LM head."""
    untied = switch("--untie-embeddings-and-output-weights", "config.json:tie_word_embeddings")
    return (
        switch("--swiglu", "config.json:hidden_act"),
        *(() if config.tie_word_embeddings else (untied,)),
        field("--vocab-size", config.vocab_size, "vocab_size"),
    )


def qwen_experts(config: RoutedExpertFields) -> tuple[ModelArgument, ...]:
    """Number, choice and width of the routed experts."""
    return (
        field("--num-experts", config.num_experts, "num_experts"),
        field("--moe-router-topk", config.num_experts_per_tok, "num_experts_per_tok"),
        field("--moe-ffn-hidden-size", config.moe_intermediate_size, "moe_intermediate_size"),
    )


def gated_shared_expert(width: int) -> tuple[ModelArgument, ...]:
    """An expert that every token uses, scaled by a gate."""
    name = "shared_expert_intermediate_size"
    return (
        field("--moe-shared-expert-intermediate-size", width, name),
        architecture("--moe-shared-expert-gate", why="a gate scales the shared expert"),
    )


def moe_layers(sparse: Sequence[int], layers: int, origin: str) -> ModelArgument:
    """Which layers have experts, in the form without spaces that Megatron's parser accepts: `[0]*3+[1]*58`."""
    has_experts = set(sparse)
    runs = groupby(range(layers), key=lambda layer: int(layer in has_experts))
    pattern = "+".join(f"[{kind}]*{len(tuple(run))}" for kind, run in runs)
    return ModelArgument(flag="--moe-layer-freq", values=(pattern,), origin=origin)


def softmax_router(*, normalised: bool = True) -> tuple[ModelArgument, ...]:
    """A router that chooses by softmax, without an auxiliary loss.

    Megatron takes the softmax over the chosen experts alone, which scales their weights to sum to 1; where the
    model does not, the softmax must come first.
    """
    first = switch("--moe-router-pre-softmax", "config.json:norm_topk_prob")
    return (
        architecture("--moe-router-score-function", "softmax", why="the router chooses by softmax"),
        *(() if normalised else (first,)),
        *_router_conventions(),
        convention("--moe-token-drop-policy", "probs", why="as its model scripts pass it"),
    )


def sigmoid_router(scaling_factor: float) -> tuple[ModelArgument, ...]:
    """A router that chooses by sigmoid plus a bias per expert, which is not trained by gradient."""
    scaling = field("--moe-router-topk-scaling-factor", scaling_factor, "routed_scaling_factor")
    return (
        architecture("--moe-router-score-function", "sigmoid", why="the router chooses by sigmoid"),
        convention("--moe-router-pre-softmax", why="as its model scripts pass it"),
        architecture("--moe-router-enable-expert-bias", why="a bias per expert corrects the choice"),
        convention("--moe-router-bias-update-rate", "0", why="the bias stays as it is"),
        convention("--moe-router-load-balancing-type", "seq_aux_loss", why="as its model scripts pass it"),
        *((scaling,) if scaling_factor != 1 else ()),
        *_router_conventions(),
    )


def _router_conventions() -> tuple[ModelArgument, ...]:
    return (
        convention("--moe-router-dtype", "fp32", why="router in FP32"),
        convention("--moe-aux-loss-coeff", "0", why="no auxiliary loss, whatever the config says"),
    )
