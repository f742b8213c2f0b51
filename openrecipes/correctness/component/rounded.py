"""A result in BF16 held against FP64: it may differ by one rounding, and by what FP32 sums leave."""

from typing import Final

import torch
from torch import Tensor

from openrecipes.correctness.component.frame import Judged
from openrecipes.correctness.component.tensor_error import BF16_ROUNDING, largest, relative_l2

# FP32 noise moves some values across the middle between two BF16 numbers, so not exactly the floor.
_OVER_FLOOR: Final = 1.25
# FP32 sums of n terms err by about sqrt(n) x 2^-24 of their size: 2^-18 at n = 4,096. Twice that.
_FP32_SLACK: Final = 2.0**-17
# What exp of an FP32 difference and a division leave, relative to the value: about a hundred units.
_FP32_EXP: Final = 2.0**-14


def judged_bf16(
    tensor: str, setting: str, check: str, found: Tensor, exact: Tensor, *, slack: float = _FP32_SLACK
) -> tuple[Judged, ...]:
    """Two lines: the whole tensor and its worst element.

    Whole: relative L2 error, bound 1.25 x the floor, which is the error of the exact result rounded once to BF16.
    An error in a second rounding adds in squares (1.41 x the floor), so a second rounding is seen.
    Each element: |found - exact| over (2^-8 + 2^-14) |exact| + slack x max |exact|, bound 1. One wrong element is
    seen. `slack` is for sums whose terms cancel; 0 where every element is exact to FP32 on its own.
    """
    exact = exact.double()
    floor = relative_l2(exact.to(torch.bfloat16), exact)
    if found.dtype is not torch.bfloat16 or found.shape != exact.shape:
        raise TypeError(
            f"{check} of {tensor} is {found.dtype} {tuple(found.shape)}, expected BF16 {tuple(exact.shape)}"
        )
    allowed = (BF16_ROUNDING + _FP32_EXP) * exact.abs() + slack * largest(exact)
    difference = (found.double() - exact).abs()
    element = largest(torch.where(difference == 0, 0.0, difference / allowed))
    return (
        Judged(
            tensor=tensor, setting=setting, check=check, error=relative_l2(found, exact),
            bound=_OVER_FLOOR * floor, floor=floor, elements=exact.numel(),
        ),
        Judged(
            tensor=tensor, setting=setting, check=f"{check} (each element)", error=element, bound=1.0,
            elements=exact.numel(),
        ),
    )  # fmt: skip
