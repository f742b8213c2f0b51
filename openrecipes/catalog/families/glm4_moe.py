"""GLM-4.5: grouped-query attention, a few dense layers, then experts chosen by sigmoid beside a shared one."""

from pydantic import Field

from openrecipes.catalog.families import blocks, flags, sigmoid_experts
from openrecipes.catalog.families.family import Family, grouped_query_shape
from openrecipes.catalog.families.fields import GroupedQueryConfig, Rope
from openrecipes.catalog.families.sigmoid_experts import SigmoidExpertConfig
from openrecipes.catalog.model_parts import Layer, ModelArgument, Shape
from openrecipes.catalog.tensors import Tensor


class Glm4MoeConfig(SigmoidExpertConfig, GroupedQueryConfig):
    """Config of model type glm4_moe."""

    attention_bias: bool = Field(description="Whether the query, key and value projections have a bias.")
    use_qk_norm: bool = Field(description="Whether queries and keys are normalised.")
    rope_parameters: Rope = Field(description="Rotary position embedding.")


def _tensors(config: Glm4MoeConfig) -> tuple[Tensor, ...]:
    return (
        *blocks.ends(config),
        *blocks.layer_norms(config),
        *blocks.grouped_query_attention(
            config.layer_numbers, config, qkv_bias=config.attention_bias, qk_norm=config.use_qk_norm
        ),
        *sigmoid_experts.mlps(config),
    )


def _shape(config: Glm4MoeConfig) -> Shape:
    dense = set(config.dense_layers)
    return grouped_query_shape(
        config,
        tuple(Layer(mixer="full_attention", mlp="dense" if i in dense else "moe") for i in config.layer_numbers),
        ffn_hidden_size=config.intermediate_size if dense else None,
        num_experts=config.n_routed_experts,
        experts_per_token=config.num_experts_per_tok,
        moe_ffn_hidden_size=config.moe_intermediate_size,
        shared_expert_ffn_hidden_size=config.shared_width or None,
    )


def _arguments(config: Glm4MoeConfig) -> tuple[ModelArgument, ...]:
    qkv_bias = flags.switch("--add-qkv-bias", "config.json:attention_bias")
    qk_norm = flags.switch("--qk-layernorm", "config.json:use_qk_norm")
    return (
        *flags.sizes(config),
        flags.field("--ffn-hidden-size", config.intermediate_size, "intermediate_size"),
        *flags.grouped_query(config),
        *((qkv_bias,) if config.attention_bias else ()),
        *((qk_norm,) if config.use_qk_norm else ()),
        *flags.norms(config, zero_centred=False),
        *flags.rotary(config.rope_parameters),
        *flags.ends(config),
        *sigmoid_experts.arguments(config),
    )


GLM4_MOE = Family(
    model_type="glm4_moe",
    causal_lm="Glm4MoeForCausalLM",
    form=Glm4MoeConfig,
    tensors=_tensors,
    shape=_shape,
    arguments=_arguments,
    defaults={
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "attention_bias": False,
        "use_qk_norm": False,
        "n_group": 1,
        "topk_group": 1,
        "n_shared_experts": 1,
        "routed_scaling_factor": 1.0,
    },
    fixed={"norm_topk_prob": (True,), "scoring_func": ("sigmoid",), "topk_method": ("noaux_tc",)},
    derived=frozenset({"head_dim"}),
    renamed={"num_local_experts": "n_routed_experts"},
    partial_rotary_factor=0.5,
)
