"""Errors of tensors against FP64 references."""

from typing import Final

import torch
from torch import Tensor

# Unit roundoff: the largest error of one rounding to nearest, relative to the value. 24 and 8 significant bits.
FP32_ROUNDING: Final = 2.0**-24
BF16_ROUNDING: Final = 2.0**-8


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


def non_finite(*tensors: Tensor) -> int:
    """Elements that are NaN or infinite."""
    return sum(int((~torch.isfinite(tensor)).sum()) for tensor in tensors)
