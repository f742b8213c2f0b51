"""Megatron arguments from config fields, each with its origin, in the order in which they are written."""

from openrecipes.catalog.families.fields import GroupedQueryFields, Rope, RoutedExpertFields, TextConfig
from openrecipes.catalog.model_parts import ModelArgument

_SLIME = "slime convention"


def field(flag: str, value: float | str, name: str) -> ModelArgument:
    """An argument whose value is a config field's."""
    text = value if isinstance(value, str) else number(value)
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


def number(value: float) -> str:
    """A number as these flags want it: whole ones without a point, small ones as 1e-6."""
    if value == int(value):
        return str(int(value))
    mantissa, _, exponent = f"{value!r}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def sizes(config: TextConfig) -> tuple[ModelArgument, ...]:
    """Depth and width."""
    return (
        field("--num-layers", config.num_hidden_layers, "num_hidden_layers"),
        field("--hidden-size", config.hidden_size, "hidden_size"),
    )


def grouped_query(heads: int, config: GroupedQueryFields) -> tuple[ModelArgument, ...]:
    """Query heads, key-value heads and head width."""
    return (
        switch("--group-query-attention", "config.json:num_key_value_heads"),
        field("--num-attention-heads", heads, "num_attention_heads"),
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


def rotary(rope: Rope) -> tuple[ModelArgument, ...]:
    """Rotary position embedding: share of the head and base."""
    return (
        architecture("--position-embedding-type", "rope", why="rotary position embedding"),
        field("--rotary-percent", rope.partial_rotary_factor, "rope_parameters.partial_rotary_factor"),
        field("--rotary-base", rope.rope_theta, "rope_parameters.rope_theta"),
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


def moe_layer_freq(dense: int, layers: int) -> str:
    """Which layers have experts, in the form without spaces that Megatron's parser accepts: `[0]*3+[1]*58`."""
    moe = f"[1]*{layers - dense}"
    return f"[0]*{dense}+{moe}" if dense else moe


def softmax_router() -> tuple[ModelArgument, ...]:
    """A router that chooses by softmax, without an auxiliary loss."""
    return (
        architecture("--moe-router-score-function", "softmax", why="the router chooses by softmax"),
        convention("--moe-router-dtype", "fp32", why="router in FP32"),
        convention("--moe-aux-loss-coeff", "0", why="router_aux_loss_coef is not used"),
        convention("--moe-token-drop-policy", "probs", why="as its model scripts pass it"),
    )
