"""Tokens to expert scores to chosen experts: what goes in, what comes out, in FP32 and exactly."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True, slots=True)
class RouterCase:
    """Hidden states (T, H) and router weight (E, H), BF16; gradient of the probabilities (T, E), FP32.

    With `pre_softmax` probabilities are those among all experts, else among the chosen ones.
    """

    hidden: Tensor
    weight: Tensor
    gradient: Tensor
    top_k: int
    pre_softmax: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class RouterResult:
    """Logits and probabilities (T, E) FP32, the latter 0 off the mask of chosen experts; gradients in BF16."""

    logits: Tensor
    probabilities: Tensor
    mask: Tensor
    hidden_gradient: Tensor
    weight_gradient: Tensor


Gate = Callable[[Tensor, Tensor], Tensor]  # hidden, weight -> logits
Choose = Callable[[Tensor, int, bool], tuple[Tensor, Tensor]]  # logits, top_k, pre_softmax -> probabilities, mask


def routed(case: RouterCase, gate: Gate, choose: Choose) -> RouterResult:
    """Forward and backward through these two functions."""
    hidden, weight = case.hidden.clone().requires_grad_(), case.weight.clone().requires_grad_()
    logits = gate(hidden, weight)
    probabilities, mask = choose(logits, case.top_k, case.pre_softmax)
    hidden_gradient, weight_gradient = torch.autograd.grad(probabilities, (hidden, weight), case.gradient)
    return RouterResult(
        logits=logits.detach(),
        probabilities=probabilities.detach(),
        mask=mask.detach().bool(),
        hidden_gradient=hidden_gradient,
        weight_gradient=weight_gradient,
    )


def gate_in_fp32(hidden: Tensor, weight: Tensor) -> Tensor:
    """Logits from FP32 copies: what Megatron does with `--moe-router-dtype fp32` and no fused kernel."""
    return hidden.float() @ weight.float().T


def choose_in_fp32(logits: Tensor, top_k: int, pre_softmax: bool) -> tuple[Tensor, Tensor]:  # noqa: FBT001  (Choose)
    """Top-k in FP32, by one index list a token."""
    scores, chosen = logits.topk(top_k, dim=1)
    among = torch.logsumexp(logits if pre_softmax else scores, dim=1, keepdim=True)
    probabilities = torch.zeros_like(logits).scatter(1, chosen, (scores - among).exp())
    return probabilities, torch.zeros_like(logits, dtype=torch.bool).scatter(1, chosen, value=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExactRouting:
    """FP64 logits, the size of each logit's sum (sum |x_i w_i|), and the gradients where these were chosen."""

    logits: Tensor
    sizes: Tensor
    hidden_gradient: Tensor
    weight_gradient: Tensor


def exact(case: RouterCase, mask: Tensor) -> ExactRouting:
    """The reference; gradients follow the candidate's choice, which is judged by itself."""
    hidden, weight = case.hidden.double(), case.weight.double()
    logits = hidden @ weight.T
    probabilities = exact_probabilities(logits, mask, pre_softmax=case.pre_softmax)
    wanted = case.gradient.double() * mask
    mean = (wanted * probabilities).sum(1, keepdim=True)
    among = logits.softmax(1) if case.pre_softmax else probabilities
    logits_gradient = probabilities * wanted - among * mean
    return ExactRouting(
        logits=logits,
        sizes=hidden.abs() @ weight.abs().T,
        hidden_gradient=logits_gradient @ weight,
        weight_gradient=logits_gradient.T @ hidden,
    )


def exact_probabilities(logits: Tensor, mask: Tensor, *, pre_softmax: bool) -> Tensor:
    """FP64 softmax of these logits over the chosen experts, or over all; 0 off the mask."""
    exactly = logits.double()
    if pre_softmax:
        return exactly.softmax(1) * mask
    return exactly.masked_fill(~mask, float("-inf")).softmax(1)
