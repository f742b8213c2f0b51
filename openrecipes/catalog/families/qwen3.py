"""Qwen3: grouped-query attention with normalised queries and keys; a dense MLP, or routed experts."""

from typing import Final

from pydantic import Field, JsonValue

from openrecipes.catalog.families import blocks, flags
from openrecipes.catalog.families.family import Family, grouped_query_shape
from openrecipes.catalog.families.fields import GroupedQueryConfig, Rope, SparseStepConfig, Width
from openrecipes.catalog.model_parts import Layer, ModelArgument, Shape
from openrecipes.catalog.tensors import Role, Tensor

_FIXED: Final[dict[str, tuple[JsonValue, ...]]] = {
    "attention_bias": (False,),
    "use_sliding_window": (False,),
    "layer_types": ("full_attention", None),
}
_DEFAULTS: Final[dict[str, JsonValue]] = {"hidden_act": "silu", "tie_word_embeddings": False}


class Qwen3Config(GroupedQueryConfig):
    """Config of model type qwen3."""

    intermediate_size: Width = Field(description="Inner width of the MLP.")
    rope_parameters: Rope = Field(description="Rotary position embedding.")


class Qwen3MoeConfig(SparseStepConfig):
    """Config of model type qwen3_moe."""

    rope_parameters: Rope = Field(description="Rotary position embedding.")


def _tensors(config: Qwen3Config | Qwen3MoeConfig, mlp: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (
        *blocks.ends(config),
        *blocks.layer_norms(config),
        *blocks.grouped_query_attention(config.layer_numbers, config, qk_norm=True),
        *mlp,
    )


def _dense_tensors(config: Qwen3Config) -> tuple[Tensor, ...]:
    hidden, inner = config.hidden_size, config.intermediate_size
    return _tensors(config, blocks.gated_mlp("mlp", Role.DENSE_MLP, hidden, inner, config.layer_numbers))


def _moe_tensors(config: Qwen3MoeConfig) -> tuple[Tensor, ...]:
    hidden, inner = config.hidden_size, config.intermediate_size
    dense = blocks.gated_mlp("mlp", Role.DENSE_MLP, hidden, inner, config.dense_layers)
    return _tensors(config, (*dense, *blocks.qwen_experts(config.sparse_layers, hidden, config)))


def _dense_shape(config: Qwen3Config) -> Shape:
    layers = (Layer(mixer="full_attention", mlp="dense"),) * config.num_hidden_layers
    return grouped_query_shape(config, layers, ffn_hidden_size=config.intermediate_size)


def _moe_shape(config: Qwen3MoeConfig) -> Shape:
    sparse = set(config.sparse_layers)
    return grouped_query_shape(
        config,
        tuple(Layer(mixer="full_attention", mlp="moe" if i in sparse else "dense") for i in config.layer_numbers),
        ffn_hidden_size=config.intermediate_size if config.dense_layers else None,
        num_experts=config.num_experts,
        experts_per_token=config.num_experts_per_tok,
        moe_ffn_hidden_size=config.moe_intermediate_size,
    )


def _arguments(config: Qwen3Config | Qwen3MoeConfig) -> tuple[ModelArgument, ...]:
    return (
        *flags.sizes(config),
        flags.field("--ffn-hidden-size", config.intermediate_size, "intermediate_size"),
        *flags.grouped_query(config),
        flags.architecture("--qk-layernorm", why="queries and keys are normalised"),
        *flags.norms(config, zero_centred=False),
        *flags.rotary(config.rope_parameters),
        *flags.ends(config),
    )


def _moe_arguments(config: Qwen3MoeConfig) -> tuple[ModelArgument, ...]:
    return (
        *_arguments(config),
        *flags.qwen_experts(config),
        flags.moe_layers(config.sparse_layers, config.num_hidden_layers, "config.json:decoder_sparse_step"),
        *flags.softmax_router(normalised=config.norm_topk_prob),
    )


QWEN3 = Family(
    model_type="qwen3",
    causal_lm="Qwen3ForCausalLM",
    form=Qwen3Config,
    tensors=_dense_tensors,
    shape=_dense_shape,
    arguments=_arguments,
    defaults=_DEFAULTS,
    fixed=_FIXED,
    ignored=frozenset({"sliding_window", "max_window_layers"}),
)
QWEN3_MOE = Family(
    model_type="qwen3_moe",
    causal_lm="Qwen3MoeForCausalLM",
    form=Qwen3MoeConfig,
    tensors=_moe_tensors,
    shape=_moe_shape,
    arguments=_moe_arguments,
    defaults={**_DEFAULTS, "decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": False},
    fixed=_FIXED,
    derived=frozenset({"head_dim"}),
    renamed={"num_local_experts": "num_experts"},
    ignored=frozenset({"sliding_window", "max_window_layers"}),
)
