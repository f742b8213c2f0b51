"""Tokens to experts and back: what goes in, what comes out, in PyTorch and exactly."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True, slots=True)
class Routed:
    """Tokens (T, H) BF16, their experts as a mask (T, E), probabilities (T, E) FP32 that are 0 off the mask.

    `expert_rows` (T x top_k, H) BF16 come back from the experts. Gradients: of the permuted rows and of their
    probabilities, of the unpermuted tokens.
    """

    tokens: Tensor
    mask: Tensor
    probabilities: Tensor
    expert_rows: Tensor
    permuted_gradient: Tensor
    permuted_probabilities_gradient: Tensor
    merged_gradient: Tensor

    @property
    def rows(self) -> int:
        """Rows after permuting: one for each token and chosen expert."""
        return len(self.permuted_gradient)


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """What a permute of the tokens and two unpermutes of the experts' rows give; rows lie by expert, then token.

    `summed` adds a token's rows, `merged` weights them by its probabilities first.
    """

    permuted: Tensor
    permuted_probabilities: Tensor
    tokens_gradient: Tensor
    probabilities_gradient: Tensor
    summed: Tensor
    rows_gradient: Tensor
    merged: Tensor
    merged_rows_gradient: Tensor
    merging_gradient: Tensor


def in_pytorch(case: Routed) -> Moved:
    """The stand-in: rows gathered through one flat index, sums scattered in FP32, gradients by autograd."""
    expert, token = case.mask.T.nonzero(as_tuple=True)
    tokens, probabilities = case.tokens.clone().requires_grad_(), case.probabilities.clone().requires_grad_()
    index = token.unsqueeze(1).expand(-1, case.tokens.shape[1])
    permuted = torch.gather(tokens.float(), 0, index)
    chosen = probabilities.flatten()[token * case.mask.shape[1] + expert]
    tokens_gradient, probabilities_gradient = torch.autograd.grad(
        (permuted, chosen),
        (tokens, probabilities),
        (case.permuted_gradient.float(), case.permuted_probabilities_gradient),
    )
    rows = case.expert_rows.clone().requires_grad_()
    merging = case.probabilities.clone().requires_grad_()
    weights = merging.flatten()[token * case.mask.shape[1] + expert].unsqueeze(1)
    zeros = torch.zeros_like(case.tokens, dtype=torch.float32)
    summed, merged = zeros.scatter_add(0, index, rows.float()), zeros.scatter_add(0, index, rows.float() * weights)
    (rows_gradient,) = torch.autograd.grad(summed, rows, case.merged_gradient.float())
    merged_rows_gradient, merging_gradient = torch.autograd.grad(merged, (rows, merging), case.merged_gradient.float())
    return Moved(
        permuted=permuted.detach().bfloat16(),
        permuted_probabilities=chosen.detach(),
        tokens_gradient=tokens_gradient,
        probabilities_gradient=probabilities_gradient,
        summed=summed.detach().bfloat16(),
        rows_gradient=rows_gradient,
        merged=merged.detach().bfloat16(),
        merged_rows_gradient=merged_rows_gradient,
        merging_gradient=merging_gradient,
    )


def exact(case: Routed) -> Moved:
    """Unfused: an index_select for each copy, and sums in FP64; copies keep their dtype."""
    expert, token = case.mask.T.nonzero(as_tuple=True)
    permuted, chosen = case.tokens.index_select(0, token), case.probabilities[token, expert]
    weights, gradient = chosen.double().unsqueeze(1), case.merged_gradient.index_select(0, token)

    def added(rows: Tensor) -> Tensor:
        return torch.zeros_like(case.tokens, dtype=torch.float64).index_add_(0, token, rows.double())

    def spread(values: Tensor) -> Tensor:
        return torch.zeros_like(case.probabilities, dtype=values.dtype).index_put_((token, expert), values)

    return Moved(
        permuted=permuted,
        permuted_probabilities=chosen,
        tokens_gradient=added(case.permuted_gradient),
        probabilities_gradient=spread(case.permuted_probabilities_gradient),
        summed=added(case.expert_rows),
        rows_gradient=gradient,
        merged=added(case.expert_rows.double() * weights),
        merged_rows_gradient=gradient.double() * weights,
        merging_gradient=spread((case.expert_rows.double() * gradient.double()).sum(1)),
    )
