"""DeepSeek-V3: multi-head latent attention, a few dense layers, then grouped experts chosen by sigmoid."""

from typing import Annotated, Literal

from pydantic import Field

from openrecipes.catalog.data_files import CatalogData
from openrecipes.catalog.families import blocks, flags, sigmoid_experts
from openrecipes.catalog.families.family import Family
from openrecipes.catalog.families.fields import Rope, RopeBase, Width
from openrecipes.catalog.families.sigmoid_experts import SigmoidExpertConfig
from openrecipes.catalog.model_parts import LatentAttention, Layer, ModelArgument, Shape
from openrecipes.catalog.tensors import Role, Tensor


class YarnRope(CatalogData):
    """Rotary position embedding stretched by YaRN; Megatron's latent attention holds the rest fixed."""

    rope_type: Literal["yarn"] = Field(description="Scaling by YaRN.")
    rope_theta: RopeBase = Field(description="Base of the rotary frequencies.")
    partial_rotary_factor: float = Field(default=1.0, ge=1, le=1, description="The whole rotary part is rotated.")
    factor: float = Field(ge=1, le=1e6, description="How far positions are stretched.")
    mscale: float = Field(default=1.0, ge=0, le=100, description="Scale of the rotated part.")
    mscale_all_dim: float = Field(default=0.0, ge=0, le=100, description="Scale of all attention scores.")
    beta_fast: float = Field(default=32.0, ge=32, le=32, description="Fixed in Megatron.")
    beta_slow: float = Field(default=1.0, ge=1, le=1, description="Fixed in Megatron.")
    original_max_position_embeddings: Literal[4096] = Field(description="Fixed in Megatron.")


class DeepseekV3Config(SigmoidExpertConfig):
    """Config of model type deepseek_v3."""

    q_lora_rank: Width | None = Field(description="Rank of the queries; null where they are projected directly.")
    kv_lora_rank: Width = Field(description="Rank of keys and values together.")
    qk_nope_head_dim: Width = Field(description="Width of a query or key without position.")
    qk_rope_head_dim: Width = Field(description="Width of a query or key that is rotated.")
    v_head_dim: Width = Field(description="Width of a value head.")
    rope_parameters: Annotated[Rope | YarnRope, Field(discriminator="rope_type")] = Field(
        description="Rotary position embedding."
    )


def _attention(config: DeepseekV3Config) -> tuple[Tensor, ...]:
    hidden, heads, layers = config.hidden_size, config.num_attention_heads, config.layer_numbers
    query = heads * (config.qk_nope_head_dim + config.qk_rope_head_dim)
    role, rank = Role.ATTENTION, config.q_lora_rank
    queries = blocks.weight("self_attn.q_proj.weight", role, (query, hidden), layers)
    if rank is not None:
        queries = (
            *blocks.weight("self_attn.q_a_proj.weight", role, (rank, hidden), layers),
            *blocks.weight("self_attn.q_a_layernorm.weight", Role.NORM, (rank,), layers),
            *blocks.weight("self_attn.q_b_proj.weight", role, (query, rank), layers),
        )
    down = config.kv_lora_rank + config.qk_rope_head_dim
    up = heads * (config.qk_nope_head_dim + config.v_head_dim)
    return (
        *queries,
        *blocks.weight("self_attn.kv_a_proj_with_mqa.weight", role, (down, hidden), layers),
        *blocks.weight("self_attn.kv_a_layernorm.weight", Role.NORM, (config.kv_lora_rank,), layers),
        *blocks.weight("self_attn.kv_b_proj.weight", role, (up, config.kv_lora_rank), layers),
        *blocks.weight("self_attn.o_proj.weight", role, (hidden, heads * config.v_head_dim), layers),
    )


def _tensors(config: DeepseekV3Config) -> tuple[Tensor, ...]:
    return (
        *blocks.ends(config),
        *blocks.layer_norms(config),
        *_attention(config),
        *sigmoid_experts.mlps(config),
    )


def _shape(config: DeepseekV3Config) -> Shape:
    dense = set(config.dense_layers)
    return Shape(
        hidden_size=config.hidden_size,
        vocab_size=config.vocab_size,
        layers=tuple(
            Layer(mixer="latent_attention", mlp="dense" if i in dense else "moe") for i in config.layer_numbers
        ),
        num_attention_heads=config.num_attention_heads,
        num_query_groups=config.num_attention_heads,
        head_dim=config.qk_nope_head_dim + config.qk_rope_head_dim,
        tied_embeddings=config.tie_word_embeddings,
        ffn_hidden_size=config.intermediate_size if dense else None,
        num_experts=config.n_routed_experts,
        experts_per_token=config.num_experts_per_tok,
        moe_ffn_hidden_size=config.moe_intermediate_size,
        shared_expert_ffn_hidden_size=config.shared_width or None,
        latent_attention=LatentAttention(
            q_lora_rank=config.q_lora_rank,
            kv_lora_rank=config.kv_lora_rank,
            qk_nope_head_dim=config.qk_nope_head_dim,
            qk_rope_head_dim=config.qk_rope_head_dim,
            v_head_dim=config.v_head_dim,
        ),
    )


def _attention_arguments(config: DeepseekV3Config) -> tuple[ModelArgument, ...]:
    rank = config.q_lora_rank
    return (
        flags.architecture("--multi-latent-attention", why="keys and values are stored at low rank"),
        flags.field("--num-attention-heads", config.num_attention_heads, "num_attention_heads"),
        flags.field("--kv-channels", config.v_head_dim, "v_head_dim"),
        *(() if rank is None else (flags.field("--q-lora-rank", rank, "q_lora_rank"),)),
        flags.field("--kv-lora-rank", config.kv_lora_rank, "kv_lora_rank"),
        flags.field("--qk-head-dim", config.qk_nope_head_dim, "qk_nope_head_dim"),
        flags.field("--qk-pos-emb-head-dim", config.qk_rope_head_dim, "qk_rope_head_dim"),
        flags.field("--v-head-dim", config.v_head_dim, "v_head_dim"),
        flags.architecture("--qk-layernorm", why="the low-rank queries, keys and values are normalised"),
    )


def _rotary(rope: Rope | YarnRope) -> tuple[ModelArgument, ...]:
    """Megatron's latent attention always stretches by YaRN; factor 1 leaves positions as they are."""
    unscaled = "no scaling is YaRN with factor 1"
    scaling: tuple[ModelArgument, ...] = (
        flags.convention("--rotary-scaling-factor", "1.0", why=unscaled),
        flags.convention("--mscale", "1.0", why=unscaled),
        flags.convention("--mscale-all-dim", "1.0", why=unscaled),
    )
    if isinstance(rope, YarnRope):
        scaling = (
            flags.field("--rotary-scaling-factor", rope.factor, "rope_parameters.factor"),
            flags.field("--mscale", rope.mscale, "rope_parameters.mscale"),
            flags.field("--mscale-all-dim", rope.mscale_all_dim, "rope_parameters.mscale_all_dim"),
        )
    return (
        flags.architecture("--position-embedding-type", "rope", why="rotary position embedding"),
        flags.field("--rotary-base", int(rope.rope_theta), "rope_parameters.rope_theta"),
        *scaling,
        flags.convention("--no-rope-fusion", why="as its model scripts pass it"),
    )


def _arguments(config: DeepseekV3Config) -> tuple[ModelArgument, ...]:
    return (
        *flags.sizes(config),
        flags.field("--ffn-hidden-size", config.intermediate_size, "intermediate_size"),
        *_attention_arguments(config),
        *flags.norms(config, zero_centred=False),
        *_rotary(config.rope_parameters),
        *flags.ends(config),
        *sigmoid_experts.arguments(config),
    )


DEEPSEEK_V3 = Family(
    model_type="deepseek_v3",
    causal_lm="DeepseekV3ForCausalLM",
    form=DeepseekV3Config,
    tensors=_tensors,
    shape=_shape,
    arguments=_arguments,
    defaults={
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "n_group": 8,
        "topk_group": 4,
        "routed_scaling_factor": 2.5,
        "first_k_dense_replace": 3,
    },
    fixed={
        "attention_bias": (False,),
        "norm_topk_prob": (True,),
        "scoring_func": ("sigmoid",),
        "topk_method": ("noaux_tc",),
        "rope_interleave": (True,),
        "moe_layer_freq": (1,),
    },
    renamed={"num_local_experts": "n_routed_experts"},
    # Latent attention has one key and value per head, and its own head widths.
    ignored=frozenset({"num_key_value_heads", "head_dim", "qk_head_dim"}),
)
