"""Qwen3-Next: gated delta net between gated full attention, routed experts beside a shared one."""

from typing import Final

from pydantic import Field

from openrecipes.catalog.families import blocks, flags, gated_delta_net
from openrecipes.catalog.families.family import Family, grouped_query_shape
from openrecipes.catalog.families.fields import GatedDeltaNetConfig, SparseStepConfig, Width
from openrecipes.catalog.model_parts import Layer, ModelArgument, Shape
from openrecipes.catalog.tensors import Role, Tensor

_SPEC: Final = ("slime_plugins.models.qwen3_next", "get_qwen3_next_spec")


class Qwen3NextConfig(GatedDeltaNetConfig, SparseStepConfig):
    """Config of model type qwen3_next."""

    shared_expert_intermediate_size: Width = Field(description="Inner width of the shared expert.")


def _tensors(config: Qwen3NextConfig) -> tuple[Tensor, ...]:
    sparse, hidden = config.sparse_layers, config.hidden_size
    return (
        *blocks.ends(config),
        *blocks.layer_norms(config),
        *gated_delta_net.mixers(config, joined_inputs=True),
        *blocks.gated_mlp("mlp", Role.DENSE_MLP, hidden, config.intermediate_size, config.dense_layers),
        *blocks.qwen_experts(sparse, hidden, config),
        *blocks.gated_shared_expert(sparse, hidden, config.shared_expert_intermediate_size),
    )


def _shape(config: Qwen3NextConfig) -> Shape:
    sparse = set(config.sparse_layers)
    return grouped_query_shape(
        config,
        tuple(
            Layer(mixer=kind, mlp="moe" if layer in sparse else "dense")
            for layer, kind in enumerate(config.layer_types)
        ),
        ffn_hidden_size=config.intermediate_size if config.dense_layers else None,
        num_experts=config.num_experts,
        experts_per_token=config.num_experts_per_tok,
        moe_ffn_hidden_size=config.moe_intermediate_size,
        shared_expert_ffn_hidden_size=config.shared_expert_intermediate_size,
        linear_attention=gated_delta_net.linear_attention(config),
    )


def _arguments(config: Qwen3NextConfig) -> tuple[ModelArgument, ...]:
    ffn = flags.field("--ffn-hidden-size", config.intermediate_size, "intermediate_size")
    return (
        *gated_delta_net.arguments(config, _SPEC, ffn),
        *flags.qwen_experts(config),
        *flags.gated_shared_expert(config.shared_expert_intermediate_size),
        flags.moe_layers(config.sparse_layers, config.num_hidden_layers, "config.json:decoder_sparse_step"),
        *flags.softmax_router(normalised=config.norm_topk_prob),
    )


QWEN3_NEXT = Family(
    model_type="qwen3_next",
    causal_lm="Qwen3NextForCausalLM",
    form=Qwen3NextConfig,
    tensors=_tensors,
    shape=_shape,
    arguments=_arguments,
    defaults={
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
        "norm_topk_prob": True,
    },
    fixed={"attention_bias": (False,), "attn_output_gate": (True,)},
    partial_rotary_factor=0.25,
)
