"""What a family must say of a config: its tensors, its sizes and its Megatron arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from openrecipes.catalog.families.fields import TextConfig
from openrecipes.catalog.model_parts import ModelArgument, Shape, Tensor

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
