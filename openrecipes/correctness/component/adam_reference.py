"""AdamW in FP64, and how far an implementation in FP32 may be from it."""

from math import sqrt
from typing import Final

import torch
from torch import Tensor

from openrecipes.correctness.component.adam_arm import AdamSettings, AdamState, is_tie, split
from openrecipes.correctness.component.frame import Judged
from openrecipes.correctness.component.tensor_error import non_finite, relative_l2

# One FP32 rounding of 1 - beta enters the moments: at most 2^-24 / (1 - beta), 3e-6 at beta 0.98.
MOMENT_BOUND: Final = 1e-5
UPDATE_BOUND: Final = 1e-3
_FLOORS: Final = 4
# Below this an RMS over the tensor scatters: twice the bound.
_STEADY_ELEMENTS: Final = 4096


class AdamReference:
    """Decoupled AdamW of one tensor in FP64, from the weight as BF16 holds it."""

    def __init__(self, weight: Tensor, settings: AdamSettings) -> None:
        self.start = weight.double()
        self.master = self.start.clone()
        self.exp_avg = torch.zeros_like(self.master)
        self.exp_avg_sq = torch.zeros_like(self.master)
        self.steps = 0
        self._settings = settings

    def step(self, gradient: Tensor) -> None:
        """One update; both occurrences of the master in it are the old value."""
        values, exact = self._settings, gradient.double()
        self.steps += 1
        self.exp_avg.mul_(values.beta1).add_(exact, alpha=1 - values.beta1)
        self.exp_avg_sq.mul_(values.beta2).addcmul_(exact, exact, value=1 - values.beta2)
        first, second = 1 - values.beta1**self.steps, 1 - values.beta2**self.steps
        update = (self.exp_avg / first) / ((self.exp_avg_sq / second).sqrt() + values.eps)
        self.master.sub_(values.lr * (update + values.weight_decay * self.master))

    @property
    def update(self) -> Tensor:
        """Everything that the steps changed, FP64."""
        return self.master - self.start

    @property
    def floor(self) -> float:
        """The update's relative error if nothing but the FP32 master were rounded, once a step.

        A rounding is uniform within one unit in the last place, so its RMS is ulp / sqrt(12); independent
        roundings of several steps add in squares.
        """
        _, exponent = torch.frexp(self.master)
        ulp = torch.ldexp((self.master != 0).double(), exponent - 24)
        rms_ulp, rms_update = float(ulp.square().mean().sqrt()), float(self.update.square().mean().sqrt())
        return sqrt(self.steps) * rms_ulp / (sqrt(12) * rms_update) if rms_update > 0 else float("inf")

    @property
    def update_bound(self) -> float:
        """max(1e-3, 4 x floor): four times what exact code shows, and twice that for tensors too small to average."""
        scatter = 1 if self.master.numel() >= _STEADY_ELEMENTS else 2
        return scatter * max(UPDATE_BOUND, _FLOORS * self.floor)


def judge(
    tensor: str, setting: str, reference: AdamReference, remainder: AdamState, explicit: AdamState
) -> tuple[Judged, ...]:
    """Every check of one tensor: the remainder arm against FP64, and bit for bit against explicit masters."""
    elements = remainder.master.numel()

    def line(check: str, error: float, bound: float = 0, floor: float | None = None) -> Judged:
        return Judged(
            tensor=tensor, setting=setting, check=check, error=error, bound=bound, floor=floor, elements=elements
        )

    moved = remainder.master.double() - reference.start
    # Vectors are judged under a name of their own: theirs are near 1, where FP32 resolves an update poorly.
    update = "update" if moved.dim() > 1 else "update of vectors"
    return (
        line(update, relative_l2(moved, reference.update), reference.update_bound, reference.floor),
        line("first moment", relative_l2(remainder.exp_avg, reference.exp_avg), MOMENT_BOUND),
        line("second moment", relative_l2(remainder.exp_avg_sq, reference.exp_avg_sq), MOMENT_BOUND),
        line("masters bitwise", differing_bits(remainder.master, explicit.master)),
        line(
            "moments bitwise",
            differing_bits(remainder.exp_avg, explicit.exp_avg)
            + differing_bits(remainder.exp_avg_sq, explicit.exp_avg_sq),
        ),
        line("BF16 rounding", _wrongly_rounded(remainder.weight, explicit)),
        line("step count", abs(remainder.steps - reference.steps)),
        line("finite", non_finite(remainder.master, remainder.exp_avg, remainder.exp_avg_sq)),
    )


def differing_bits(one: Tensor, other: Tensor) -> int:
    """Elements of two FP32 tensors that are not the same bit for bit."""
    return int((one.view(torch.int32) != other.view(torch.int32)).sum())


def _wrongly_rounded(weight: Tensor, explicit: AdamState) -> int:
    """Elements of the remainder arm's BF16 weight that are not the explicit arm's master, ties away from zero.

    The explicit arm's own BF16 weight must agree too, but for exact ties, which it may round to even.
    """
    expected, _ = split(explicit.master)
    bits, own = weight.view(torch.int16), explicit.weight.view(torch.int16)
    wrong = bits != expected.view(torch.int16)
    other = (bits != own) & ~is_tie(explicit.master)
    return int((wrong | other).sum())
