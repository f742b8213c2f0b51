"""What a model consists of: its layers with their sizes, and the trainer arguments that describe it."""

from dataclasses import dataclass
from typing import Final, Literal

MODEL_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"  # what a model may be called


@dataclass(frozen=True, kw_only=True, slots=True)
class Layer:
    """What one decoder layer is made of."""

    mixer: Literal["full_attention", "linear_attention", "latent_attention"]
    mlp: Literal["dense", "moe"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelArgument:
    """One Megatron argument that describes the model, and which config field or rule it comes from."""

    flag: str
    values: tuple[str, ...]
    origin: str

    @property
    def argv(self) -> tuple[str, ...]:
        """Flag and values as separate items."""
        return (self.flag, *self.values)


@dataclass(frozen=True, kw_only=True, slots=True)
class LinearAttention:
    """Sizes of a gated-delta-net mixer."""

    num_key_heads: int
    key_head_dim: int
    num_value_heads: int
    value_head_dim: int
    conv_kernel_dim: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LatentAttention:
    """Sizes of multi-head latent attention; q_lora_rank is None where queries are projected directly."""

    q_lora_rank: int | None
    kv_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """The sizes that layouts and memory depend on; None where the model has no such part.

    num_query_groups are key-value heads; latent attention has as many as heads.
    """

    hidden_size: int
    vocab_size: int
    layers: tuple[Layer, ...]
    num_attention_heads: int
    num_query_groups: int
    head_dim: int
    tied_embeddings: bool
    ffn_hidden_size: int | None = None
    num_experts: int | None = None
    experts_per_token: int | None = None
    moe_ffn_hidden_size: int | None = None
    shared_expert_ffn_hidden_size: int | None = None
    linear_attention: LinearAttention | None = None
    latent_attention: LatentAttention | None = None
