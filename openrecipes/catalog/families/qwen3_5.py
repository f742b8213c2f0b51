"""Qwen3.5: gated delta net between gated full attention; a dense MLP, or routed experts beside a shared one."""

from typing import Final

from pydantic import Field, JsonValue

from openrecipes.catalog.families import blocks, flags, gated_delta_net
from openrecipes.catalog.families.family import Family, grouped_query_shape
from openrecipes.catalog.families.fields import GatedDeltaNetConfig, RoutedExpertFields, Width
from openrecipes.catalog.model_parts import Layer, ModelArgument, Shape
from openrecipes.catalog.tensors import Role, Tensor

_SPEC: Final = ("slime_plugins.models.qwen3_5", "get_qwen3_5_spec")
_FIXED: Final[dict[str, tuple[JsonValue, ...]]] = {
    "attention_bias": (False,),
    "attn_output_gate": (True,),
    "norm_topk_prob": (True,),
    "mlp_only_layers": ([], None),
}
_DEFAULTS: Final[dict[str, JsonValue]] = {"hidden_act": "silu", "tie_word_embeddings": False}


class Qwen35MoeConfig(GatedDeltaNetConfig, RoutedExpertFields):
    """Text config of model type qwen3_5_moe_text."""

    shared_expert_intermediate_size: Width = Field(description="Inner width of the shared expert.")


class Qwen35DenseConfig(GatedDeltaNetConfig):
    """Text config of model type qwen3_5_text."""

    intermediate_size: Width = Field(description="Inner width of the MLP.")


def _tensors(config: GatedDeltaNetConfig, mlp: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (
        *blocks.ends(config),
        *blocks.layer_norms(config),
        *gated_delta_net.mixers(config),
        *mlp,
    )


def _moe_tensors(config: Qwen35MoeConfig) -> tuple[Tensor, ...]:
    shared_width = config.shared_expert_intermediate_size
    experts = blocks.qwen_experts(config.layer_numbers, config.hidden_size, config)
    shared = blocks.gated_shared_expert(config.layer_numbers, config.hidden_size, shared_width)
    return _tensors(config, (*experts, *shared))


def _dense_tensors(config: Qwen35DenseConfig) -> tuple[Tensor, ...]:
    mlp = blocks.gated_mlp("mlp", Role.DENSE_MLP, config.hidden_size, config.intermediate_size, config.layer_numbers)
    return _tensors(config, mlp)


def _moe_shape(config: Qwen35MoeConfig) -> Shape:
    return grouped_query_shape(
        config,
        tuple(Layer(mixer=kind, mlp="moe") for kind in config.layer_types),
        num_experts=config.num_experts,
        experts_per_token=config.num_experts_per_tok,
        moe_ffn_hidden_size=config.moe_intermediate_size,
        shared_expert_ffn_hidden_size=config.shared_expert_intermediate_size,
        linear_attention=gated_delta_net.linear_attention(config),
    )


def _dense_shape(config: Qwen35DenseConfig) -> Shape:
    return grouped_query_shape(
        config,
        tuple(Layer(mixer=kind, mlp="dense") for kind in config.layer_types),
        ffn_hidden_size=config.intermediate_size,
        linear_attention=gated_delta_net.linear_attention(config),
    )


def _moe_arguments(config: Qwen35MoeConfig) -> tuple[ModelArgument, ...]:
    no_dense_ffn = flags.convention(
        "--ffn-hidden-size",
        str(config.moe_intermediate_size),
        why="no layer has a dense FFN; moe_intermediate_size stands in",
    )
    return (
        *gated_delta_net.arguments(config, _SPEC, no_dense_ffn),
        *flags.qwen_experts(config),
        *flags.gated_shared_expert(config.shared_expert_intermediate_size),
        flags.moe_layers(config.layer_numbers, config.num_hidden_layers, "architecture: every layer has experts"),
        *flags.softmax_router(),
    )


def _dense_arguments(config: Qwen35DenseConfig) -> tuple[ModelArgument, ...]:
    ffn = flags.field("--ffn-hidden-size", config.intermediate_size, "intermediate_size")
    return gated_delta_net.arguments(config, _SPEC, ffn)


QWEN3_5_MOE = Family(
    model_type="qwen3_5_moe_text",
    causal_lm="Qwen3_5MoeForCausalLM",
    form=Qwen35MoeConfig,
    tensors=_moe_tensors,
    shape=_moe_shape,
    arguments=_moe_arguments,
    wrapper="qwen3_5_moe",
    defaults=_DEFAULTS,
    fixed=_FIXED,
    ignored=frozenset({"intermediate_size"}),
    partial_rotary_factor=0.25,
)
QWEN3_5 = Family(
    model_type="qwen3_5_text",
    causal_lm="Qwen3_5ForCausalLM",
    form=Qwen35DenseConfig,
    tensors=_dense_tensors,
    shape=_dense_shape,
    arguments=_dense_arguments,
    wrapper="qwen3_5",
    defaults=_DEFAULTS,
    fixed=_FIXED,
    partial_rotary_factor=0.25,
)
