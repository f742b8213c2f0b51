"""Transformer Engine's own functions on a component's case. Written against version 2.10.

transformer_engine.pytorch.RMSNorm, .permutation, .router. Each adapter only calls and collects.
"""

import torch
from torch import Tensor
from transformer_engine.pytorch import RMSNorm
from transformer_engine.pytorch.permutation import moe_permute_with_probs, moe_unpermute
from transformer_engine.pytorch.router import fused_topk_with_score_function

from openrecipes.correctness.component.moe_permute import Moved, Routed
from openrecipes.correctness.component.norm import NormCase, NormResult


def rms_norm(case: NormCase) -> NormResult:
    """One forward and backward pass of the norm that Megatron builds."""
    norm = RMSNorm(
        case.x.shape[-1],
        eps=case.eps,
        zero_centered_gamma=case.zero_centred,
        device=case.x.device,
        dtype=torch.bfloat16,
    )
    with torch.no_grad():
        norm.weight.copy_(case.gain)
    x = case.x.clone().requires_grad_()
    output = norm(x)
    output.backward(case.gradient)
    x_gradient, gain_gradient = x.grad, norm.weight.grad
    if x_gradient is None or gain_gradient is None:
        raise RuntimeError("Transformer Engine's RMSNorm gave no gradient")
    return NormResult(output=output.detach(), x_gradient=x_gradient, gain_gradient=gain_gradient)


def permuted(case: Routed) -> Moved:
    """The fused permute that Megatron's dispatcher calls, and the fused unpermute with and without probabilities."""
    tokens, probabilities = case.tokens.clone().requires_grad_(), case.probabilities.clone().requires_grad_()
    rows, chosen, row_map = moe_permute_with_probs(tokens, probabilities, case.mask, num_out_tokens=case.rows)
    tokens_gradient, probabilities_gradient = torch.autograd.grad(
        (rows, chosen), (tokens, probabilities), (case.permuted_gradient, case.permuted_probabilities_gradient)
    )
    returned, merging = case.expert_rows.clone().requires_grad_(), case.probabilities.clone().requires_grad_()
    summed = moe_unpermute(returned, row_map, restore_shape=case.tokens.shape)
    (rows_gradient,) = torch.autograd.grad(summed, returned, case.merged_gradient)
    merged = moe_unpermute(returned, row_map, merging_probs=merging, restore_shape=case.tokens.shape)
    merged_rows_gradient, merging_gradient = torch.autograd.grad(merged, (returned, merging), case.merged_gradient)
    return Moved(
        permuted=rows.detach(),
        permuted_probabilities=chosen.detach(),
        tokens_gradient=tokens_gradient,
        probabilities_gradient=probabilities_gradient,
        summed=summed.detach(),
        rows_gradient=rows_gradient,
        merged=merged.detach(),
        merged_rows_gradient=merged_rows_gradient,
        merging_gradient=merging_gradient,
    )


def choose(logits: Tensor, top_k: int, pre_softmax: bool) -> tuple[Tensor, Tensor]:  # noqa: FBT001  (routing.Choose)
    """Probabilities and mask of the chosen experts from the fused router, called as Megatron calls it."""
    probabilities, mask = fused_topk_with_score_function(
        logits=logits,
        topk=top_k,
        use_pre_softmax=pre_softmax,
        num_groups=None,
        group_topk=None,
        scaling_factor=None,
        score_function="softmax",
        expert_bias=None,
    )
    return probabilities, mask
