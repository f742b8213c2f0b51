"""The tensors of a model: what each is for, and how many parameters it holds."""

from dataclasses import dataclass
from enum import StrEnum
from math import prod


class Role(StrEnum):
    """What a tensor is for; parallelism and memory treat each role alike."""

    EMBEDDING = "embedding"
    NORM = "norm"
    ATTENTION = "attention"
    LINEAR_ATTENTION = "linear attention"
    DENSE_MLP = "dense MLP"
    ROUTER = "router"
    ROUTED_EXPERT = "routed expert"
    SHARED_EXPERT = "shared expert"
    OUTPUT = "output"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tensor:
    """One kind of weight: equal tensors of every layer (and expert) that has it.

    `name` is the one in the Hugging Face checkpoint, with `*` for layer and expert numbers.
    """

    name: str
    role: Role
    shape: tuple[int, ...]
    layers: tuple[int, ...]  # which decoder layers hold it, from 0; empty outside the layers
    copies: int  # equal tensors in one layer: the experts, or 1
    used_copies: int  # how many of them one token multiplies with; 0: not counted as active
    why_not_active: str  # empty where counted

    @property
    def number(self) -> int:
        """Equal tensors in the whole model."""
        return self.copies * (len(self.layers) or 1)

    @property
    def count(self) -> int:
        """Parameters in all of them."""
        return prod(self.shape) * self.number

    @property
    def active_count(self) -> int:
        """Parameters that one token uses, by the rule of active_params."""
        return prod(self.shape) * self.used_copies * (len(self.layers) or 1)
