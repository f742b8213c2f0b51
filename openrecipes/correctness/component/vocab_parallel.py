"""Cross-entropy over a vocabulary split among tensor-parallel ranks: in one process, and exactly."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True, slots=True)
class LossCase:
    """Logits (T, padded vocabulary) FP32 with BF16 values, targets (T,), each loss's weight (T,) FP32.

    The ranks hold equal slices of the columns, padding at the end of the last.
    """

    logits: Tensor
    targets: Tensor
    weights: Tensor
    tp: int
    vocabulary: int

    @property
    def columns(self) -> int:
        """Columns of one rank."""
        padded: int = self.logits.shape[1]
        return padded // self.tp


@dataclass(frozen=True, kw_only=True, slots=True)
class LossResult:
    """Loss of each token (T,) FP32, and the gradient of the logits (T, padded vocabulary) BF16."""

    loss: Tensor
    gradient: Tensor


def padded_vocabulary(vocabulary: int, tp: int) -> int:
    """Columns of the output layer: Megatron's multiple of 128 x tp."""
    multiple = 128 * tp
    return -(-vocabulary // multiple) * multiple


def in_fp32(case: LossCase) -> LossResult:
    """The stand-in: each rank's slice in FP32, what the ranks exchange added up here."""
    slices = case.logits.chunk(case.tp, dim=1)
    maximum = torch.stack([one.amax(1) for one in slices]).amax(0)
    exponentials = [(one - maximum.unsqueeze(1)).exp() for one in slices]
    total = torch.stack([one.sum(1) for one in exponentials]).sum(0)
    predicted = torch.stack([_predicted(case, rank, one) for rank, one in enumerate(slices)]).sum(0)
    gradient = torch.cat([one / total.unsqueeze(1) for one in exponentials], dim=1)
    gradient.scatter_add_(1, case.targets.unsqueeze(1), -torch.ones_like(case.weights).unsqueeze(1))
    return LossResult(
        loss=total.log() - (predicted - maximum), gradient=(gradient * case.weights.unsqueeze(1)).bfloat16()
    )


def _predicted(case: LossCase, rank: int, own: Tensor) -> Tensor:
    """The target's logit where this rank holds it, else 0."""
    local = case.targets - rank * case.columns
    held = (local >= 0) & (local < case.columns)
    return own.gather(1, local.clamp(0, case.columns - 1).unsqueeze(1)).squeeze(1) * held


def exact(case: LossCase) -> tuple[Tensor, Tensor]:
    """Losses and gradient in FP64, the vocabulary in one piece."""
    logits, index = case.logits.double(), case.targets.unsqueeze(1)
    loss = torch.logsumexp(logits, dim=1) - logits.gather(1, index).squeeze(1)
    gradient = logits.softmax(1).scatter_add_(1, index, -torch.ones_like(index, dtype=torch.float64))
    return loss, gradient * case.weights.double().unsqueeze(1)
