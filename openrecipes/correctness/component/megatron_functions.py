"""Megatron-LM's own functions on a component's case. Written against commit 1dcf0daf (core 0.16.0rc0).

They are the pieces that its distributed functions consist of, so that one process can stand for every rank.
"""

import torch
from megatron.core.fusions import fused_cross_entropy as fused
from megatron.core.transformer.moe.moe_utils import router_gating_linear, topk_routing_with_score_function
from torch import Tensor

from openrecipes.correctness.component.vocab_parallel import LossCase, LossResult


def gate(hidden: Tensor, weight: Tensor) -> Tensor:
    """The router's logits with `--moe-router-dtype fp32`."""
    logits: Tensor = router_gating_linear(hidden, weight, None, torch.float32)
    return logits


def choose(logits: Tensor, top_k: int, pre_softmax: bool) -> tuple[Tensor, Tensor]:  # noqa: FBT001  (routing.Choose)
    """Probabilities and mask of the chosen experts, as without `--moe-router-fusion`."""
    probabilities, mask = topk_routing_with_score_function(
        logits, top_k, use_pre_softmax=pre_softmax, score_function="softmax"
    )
    return probabilities, mask


def vocab_parallel_loss(case: LossCase) -> LossResult:
    """Slime's loss: the fused functions on each rank's slice, the reductions between them done here.

    The functions write into what they are given, as in the trainer; targets and slices have a batch dimension of 1.
    """
    targets, weights = case.targets.unsqueeze(1), case.weights.unsqueeze(1)
    slices = [one.clone().unsqueeze(1) for one in case.logits.chunk(case.tp, dim=1)]
    prepared = [fused.calculate_logits_max(one) for one in slices]
    maximum = torch.stack([own for _, own in prepared]).amax(0)
    steps = [
        fused.calculate_predicted_logits(one, targets, maximum, rank * case.columns, (rank + 1) * case.columns)
        for rank, (one, _) in enumerate(prepared)
    ]
    summed = torch.stack([predicted_and_sum for _, _, predicted_and_sum, _ in steps]).sum(0)
    losses, gradients = [], []
    for mask, local_targets, _, exponentials in steps:
        softmax, loss = fused.calculate_cross_entropy_loss(exponentials, summed)
        losses.append(loss)
        gradients.append(fused.calculate_gradients(softmax, weights, mask, local_targets))
    return LossResult(loss=losses[0].squeeze(1), gradient=torch.cat(gradients, dim=-1).squeeze(1))
