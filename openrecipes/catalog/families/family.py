"""What a family must say of a config: its tensors, its sizes and its Megatron arguments."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import JsonValue

from openrecipes.catalog.families.fields import GroupedQueryConfig, TextConfig
from openrecipes.catalog.model_parts import Layer, LinearAttention, ModelArgument, Shape
from openrecipes.catalog.tensors import Tensor

Config = TypeVar("Config", bound=TextConfig)


@dataclass(frozen=True, kw_only=True, slots=True)
class Family(Generic[Config]):
    """One architecture, keyed by the `model_type` of its text config."""

    model_type: str
    causal_lm: str  # transformers' class of the text model with LM head
    form: type[Config]
    tensors: Callable[[Config], tuple[Tensor, ...]]
    shape: Callable[[Config], Shape]
    arguments: Callable[[Config], tuple[ModelArgument, ...]]
    # How to read a config.json of this family; `form` holds the fields that matter.
    wrapper: str | None = None  # model_type of the config that holds this one as text_config
    defaults: Mapping[str, JsonValue] = field(default_factory=dict)  # what transformers assumes for a missing field
    fixed: Mapping[str, tuple[JsonValue, ...]] = field(default_factory=dict)  # what a field must be, if present
    renamed: Mapping[str, str] = field(default_factory=dict)  # other names of a field
    ignored: frozenset[str] = frozenset()  # fields that change neither tensors nor arguments
    derived: frozenset[str] = frozenset()  # head_dim, num_key_value_heads: computed by transformers where missing
    partial_rotary_factor: float = 1.0  # what transformers assumes where the config is silent


def grouped_query_shape(
    config: GroupedQueryConfig,
    layers: tuple[Layer, ...],
    *,
    ffn_hidden_size: int | None = None,
    num_experts: int | None = None,
    experts_per_token: int | None = None,
    moe_ffn_hidden_size: int | None = None,
    shared_expert_ffn_hidden_size: int | None = None,
    linear_attention: LinearAttention | None = None,
) -> Shape:
    """The shape of a model with grouped-query attention; None for the parts that it lacks."""
    return Shape(
        hidden_size=config.hidden_size,
        vocab_size=config.vocab_size,
        layers=layers,
        num_attention_heads=config.num_attention_heads,
        num_query_groups=config.num_key_value_heads,
        head_dim=config.head_dim,
        tied_embeddings=config.tie_word_embeddings,
        ffn_hidden_size=ffn_hidden_size,
        num_experts=num_experts,
        experts_per_token=experts_per_token,
        moe_ffn_hidden_size=moe_ffn_hidden_size,
        shared_expert_ffn_hidden_size=shared_expert_ffn_hidden_size,
        linear_attention=linear_attention,
    )
