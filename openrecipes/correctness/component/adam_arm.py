"""What an implementation of precision-aware Adam shows to its test, and how BF16 and remainder make a master."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import torch
from torch import Tensor


class Masters(StrEnum):
    """How the FP32 masters are kept."""

    REMAINDER = "remainder"  # the BF16 weight and 16 more bits
    EXPLICIT = "explicit"  # an FP32 tensor beside the BF16 weight
    DROPPED = "dropped"  # not at all: the BF16 weight is the master


@dataclass(frozen=True, kw_only=True, slots=True)
class AdamSettings:
    """Adam's values for one tensor, and its modes. first_step is the t of the first update: 1 in sound code."""

    lr: float
    beta1: float
    beta2: float
    eps: float
    weight_decay: float
    decoupled: bool = True
    bias_correction: bool = True
    first_step: int = 1
    bf16_moments: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class AdamState:
    """One tensor after some steps: BF16 weight, FP32 master and moments, and the optimizer's own step count."""

    weight: Tensor
    master: Tensor
    exp_avg: Tensor
    exp_avg_sq: Tensor
    steps: int


class AdamArm(Protocol):
    """An optimizer over one BF16 tensor. weight and remainder are its own storage, not copies."""

    @property
    def weight(self) -> Tensor:
        """The BF16 weight."""

    @property
    def remainder(self) -> Tensor:
        """The int16 remainder, once a step was taken; only where masters are kept so."""

    def step(self, gradient: Tensor) -> None:
        """One update by an FP32 gradient of the weight's shape."""

    def state(self) -> AdamState:
        """What it holds now."""


class MakeArm(Protocol):
    """An implementation: an arm over a copy of a BF16 tensor."""

    def __call__(self, weight: Tensor, settings: AdamSettings, masters: Masters) -> AdamArm: ...


def split(master: Tensor) -> tuple[Tensor, Tensor]:
    """BF16 weight and int16 remainder of an FP32 master: nearest BF16, ties away from zero."""
    bits = master.view(torch.int32)
    remainder = bits.to(torch.int16)  # the low half; a cast to fewer bits keeps exactly those
    high = (bits >> 16) + (remainder < 0).to(torch.int32)
    return high.to(torch.int16).view(torch.bfloat16), remainder


def rebuilt(weight: Tensor, remainder: Tensor) -> Tensor:
    """The FP32 master of a BF16 weight and its remainder, bit for bit; undoes `split`."""
    high = weight.view(torch.int16).to(torch.int32) - (remainder < 0).to(torch.int32)
    return joined(high, remainder)


def joined(high: Tensor, remainder: Tensor) -> Tensor:
    """The FP32 tensor with these upper halves (int32) and lower halves (int16)."""
    return ((high << 16) | (remainder.to(torch.int32) & 0xFFFF)).view(torch.float32)


def is_tie(master: Tensor) -> Tensor:
    """Where a master lies exactly between two BF16 values: there, and only there, two roundings may differ."""
    return (master.view(torch.int32) & 0xFFFF) == 0x8000
