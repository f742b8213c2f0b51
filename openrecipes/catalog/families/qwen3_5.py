"""Qwen3.5: gated delta net between gated full attention; a dense MLP, or routed experts beside a shared one."""

from typing import Self

from pydantic import Field, model_validator

from openrecipes.catalog.families import blocks, fields, flags
from openrecipes.catalog.families.family import Family
from openrecipes.catalog.families.fields import (
    GatedDeltaNetFields,
    GroupedQueryFields,
    Rope,
    RoutedExpertFields,
    TextConfig,
    Width,
)
from openrecipes.catalog.model_parts import Layer, ModelArgument, Role, Shape, Tensor

_SPEC = ("slime_plugins.models.qwen3_5", "get_qwen3_5_spec")


class _Qwen35Config(TextConfig, GroupedQueryFields, GatedDeltaNetFields):
    rope_parameters: Rope = Field(description="Rotary position embedding of the full-attention layers.")

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        fields.require_divides(self, "num_attention_heads", "num_key_value_heads")
        fields.require_divides(self, "linear_num_value_heads", "linear_num_key_heads")
        fields.require_length(self, "layer_types", "num_hidden_layers")
        return self


class Qwen35MoeConfig(_Qwen35Config, RoutedExpertFields):
    """Text config of model type qwen3_5_moe_text."""

    shared_expert_intermediate_size: Width = Field(description="Inner width of the shared expert.")

    @model_validator(mode="after")
    def _experts_agree(self) -> Self:
        fields.require_at_most(self, "num_experts_per_tok", "num_experts")
        return self


class Qwen35DenseConfig(_Qwen35Config):
    """Text config of model type qwen3_5_text."""

    intermediate_size: Width = Field(description="Inner width of the MLP.")


def _mixers(config: _Qwen35Config) -> tuple[Tensor, ...]:
    linear = tuple(i for i, kind in enumerate(config.layer_types) if kind == "linear_attention")
    full = tuple(i for i, kind in enumerate(config.layer_types) if kind == "full_attention")
    return (
        *blocks.gated_delta_net(
            linear,
            hidden=config.hidden_size,
            key_heads=config.linear_num_key_heads,
            key_dim=config.linear_key_head_dim,
            value_heads=config.linear_num_value_heads,
            value_dim=config.linear_value_head_dim,
            taps=config.linear_conv_kernel_dim,
        ),
        *blocks.grouped_query_attention(
            full,
            hidden=config.hidden_size,
            heads=config.num_attention_heads,
            groups=config.num_key_value_heads,
            head_dim=config.head_dim,
            gated=True,
        ),
    )


def _tensors(config: _Qwen35Config, mlp: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    every = tuple(range(config.num_hidden_layers))
    return (
        *blocks.ends(config.vocab_size, config.hidden_size, tied=config.tie_word_embeddings),
        *blocks.layer_norms(config.hidden_size, every),
        *_mixers(config),
        *mlp,
    )


def _moe_tensors(config: Qwen35MoeConfig) -> tuple[Tensor, ...]:
    every = tuple(range(config.num_hidden_layers))
    hidden, shared = config.hidden_size, Role.SHARED_EXPERT
    experts = blocks.routed_experts(
        every,
        hidden=hidden,
        inner=config.moe_intermediate_size,
        experts=config.num_experts,
        top_k=config.num_experts_per_tok,
    )
    shared_expert = blocks.gated_mlp("mlp.shared_expert", shared, hidden, config.shared_expert_intermediate_size, every)
    gate = blocks.weight("mlp.shared_expert_gate.weight", shared, (1, hidden), every)
    return _tensors(config, (*experts, *shared_expert, *gate))


def _dense_tensors(config: Qwen35DenseConfig) -> tuple[Tensor, ...]:
    every = tuple(range(config.num_hidden_layers))
    return _tensors(
        config, blocks.gated_mlp("mlp", Role.DENSE_MLP, config.hidden_size, config.intermediate_size, every)
    )


def _moe_shape(config: Qwen35MoeConfig) -> Shape:
    return Shape(
        hidden_size=config.hidden_size,
        vocab_size=config.vocab_size,
        layers=tuple(Layer(mixer=kind, mlp="moe") for kind in config.layer_types),
        num_attention_heads=config.num_attention_heads,
        num_query_groups=config.num_key_value_heads,
        head_dim=config.head_dim,
        ffn_hidden_size=None,
        num_experts=config.num_experts,
        experts_per_token=config.num_experts_per_tok,
        moe_ffn_hidden_size=config.moe_intermediate_size,
        shared_expert_ffn_hidden_size=config.shared_expert_intermediate_size,
        tied_embeddings=config.tie_word_embeddings,
    )


def _dense_shape(config: Qwen35DenseConfig) -> Shape:
    return Shape(
        hidden_size=config.hidden_size,
        vocab_size=config.vocab_size,
        layers=tuple(Layer(mixer=kind, mlp="dense") for kind in config.layer_types),
        num_attention_heads=config.num_attention_heads,
        num_query_groups=config.num_key_value_heads,
        head_dim=config.head_dim,
        ffn_hidden_size=config.intermediate_size,
        num_experts=None,
        experts_per_token=None,
        moe_ffn_hidden_size=None,
        shared_expert_ffn_hidden_size=None,
        tied_embeddings=config.tie_word_embeddings,
    )


def _shared_arguments(config: _Qwen35Config, ffn_hidden_size: ModelArgument) -> tuple[ModelArgument, ...]:
    return (
        flags.architecture("--spec", *_SPEC, why="slime's Qwen3.5 layers; linear attention is read from config.json"),
        *flags.sizes(config),
        ffn_hidden_size,
        *flags.grouped_query(config.num_attention_heads, config),
        flags.architecture("--qk-layernorm", why="queries and keys are normalised"),
        flags.architecture("--attention-output-gate", why="a gate scales the attention output"),
        flags.convention("--use-gated-attention", why="as its model scripts pass it; read nowhere"),
        *flags.norms(config, zero_centred=True),
        *flags.rotary(config.rope_parameters),
        *flags.ends(config),
    )


def _moe_arguments(config: Qwen35MoeConfig) -> tuple[ModelArgument, ...]:
    no_dense_ffn = flags.convention(
        "--ffn-hidden-size",
        str(config.moe_intermediate_size),
        why="no layer has a dense FFN; moe_intermediate_size stands in",
    )
    shared = "shared_expert_intermediate_size"
    return (
        *_shared_arguments(config, no_dense_ffn),
        *flags.qwen_experts(config),
        flags.field("--moe-shared-expert-intermediate-size", config.shared_expert_intermediate_size, shared),
        flags.architecture("--moe-shared-expert-gate", why="a gate scales the shared expert"),
        flags.architecture(
            "--moe-layer-freq", flags.moe_layer_freq(0, config.num_hidden_layers), why="every layer has experts"
        ),
        *flags.softmax_router(),
    )


def _dense_arguments(config: Qwen35DenseConfig) -> tuple[ModelArgument, ...]:
    return _shared_arguments(config, flags.field("--ffn-hidden-size", config.intermediate_size, "intermediate_size"))


QWEN3_5_MOE = Family(
    model_type="qwen3_5_moe_text",
    causal_lm="Qwen3_5MoeForCausalLM",
    form=Qwen35MoeConfig,
    tensors=_moe_tensors,
    shape=_moe_shape,
    arguments=_moe_arguments,
)
QWEN3_5 = Family(
    model_type="qwen3_5_text",
    causal_lm="Qwen3_5ForCausalLM",
    form=Qwen35DenseConfig,
    tensors=_dense_tensors,
    shape=_dense_shape,
    arguments=_dense_arguments,
)
