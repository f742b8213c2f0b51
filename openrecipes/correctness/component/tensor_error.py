"""Errors of tensors against FP64 references."""

from typing import Final

import torch
from torch import Tensor

# Half a unit in the last place, relative to the value: the largest error of one rounding to nearest.
FP32_ROUNDING: Final = 2.0**-24
BF16_ROUNDING: Final = 2.0**-9


def relative_l2(found: Tensor, exact: Tensor) -> float:
    """norm(found - exact) / norm(exact) in FP64; 0 for equal tensors, infinite where only the reference is 0."""
    difference = float((found.double() - exact.double()).norm())
    size = float(exact.double().norm())
    if size > 0:
        return difference / size
    return 0.0 if difference <= 0 else float("inf")


def largest(error: Tensor) -> float:
    """The largest absolute value; NaN if any is NaN, 0 for nothing."""
    return float(error.abs().max()) if error.numel() else 0.0


def largest_relative(found: Tensor, exact: Tensor) -> float:
    """The largest |found - exact| / |exact| over elements, FP64; a wrong zero is infinite."""
    difference = (found.double() - exact.double()).abs()
    ratio = difference / exact.double().abs()
    return largest(torch.where(difference == 0, torch.zeros_like(ratio), ratio))


def non_finite(*tensors: Tensor) -> int:
    """Elements that are NaN or infinite."""
    return sum(int((~torch.isfinite(tensor)).sum()) for tensor in tensors)
