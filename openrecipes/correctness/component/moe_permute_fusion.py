"""Tokens to experts and back in one kernel each, against plain copies and FP64 sums, forward and backward.

Arithmetic: permuting copies, so its outputs must be the same bit for bit. Unpermuting adds the top-k rows of a token
(weighted, where it merges probabilities) in FP32 and rounds once to BF16; see rounded.py. The gradient of a permute
is an unpermute and the other way round. The gradient of a probability is a dot product over the hidden size in FP32.
"""

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor

from openrecipes.correctness.component.frame import Bench, Findings, Judged, Tier
from openrecipes.correctness.component.mistake import controls_of
from openrecipes.correctness.component.moe_permute import Moved, Routed, exact, in_pytorch
from openrecipes.correctness.component.moe_permute_mistakes import mistakes
from openrecipes.correctness.component.rounded import judged_bf16
from openrecipes.correctness.component.subject import Subject
from openrecipes.correctness.component.tensor_error import FP32_ROUNDING, largest
from openrecipes.problems import Place, Problem, ProblemsError

_MOST_TOKENS: Final = 8192
_REDUCED: Final = (192, 64, 16, 4)  # tokens, hidden size, experts, experts a token


class MoePermuteFusion:
    """What `--moe-permute-fusion` turns on."""

    name = "moe-permute-fusion"
    title = "MoE permute fusion"
    reference = "unfused copies and FP64 sums"
    implementations: Final = {
        Tier.TRANSFORMER_ENGINE: "TE moe_permute_with_probs and moe_unpermute, forward and backward",
        Tier.TORCH_GPU: "PyTorch gather and FP32 scatter",
        Tier.TORCH_CPU: "PyTorch gather and FP32 scatter",
    }

    def examine(self, subject: Subject, bench: Bench) -> Findings:
        """All of a rank's tokens to all experts, as before they are sent to the experts' ranks."""
        run, case = _implementation(bench.tier), _case(subject, bench)
        return Findings(
            shape=_shape(subject, case, bench),
            judged=judge(case, run(case)),
            controls=controls_of(mistakes(), case, run, judge),
        )


def _implementation(tier: Tier) -> Callable[[Routed], Moved]:
    if tier is Tier.TRANSFORMER_ENGINE:
        from openrecipes.correctness.component.te_functions import permuted  # noqa: PLC0415  (needs TE)

        return permuted
    return in_pytorch


def judge(case: Routed, found: Moved) -> tuple[Judged, ...]:
    """Copies bit for bit, sums by BF16 rounding, dot products by FP32 rounding."""
    reference = exact(case)
    copies = (
        ("permuted rows", found.permuted, reference.permuted),
        ("permuted probabilities", found.permuted_probabilities, reference.permuted_probabilities),
        ("probabilities' gradient", found.probabilities_gradient, reference.probabilities_gradient),
        ("summed rows' gradient", found.rows_gradient, reference.rows_gradient),
    )
    sums = (
        ("tokens' gradient", found.tokens_gradient, reference.tokens_gradient),
        ("summed tokens", found.summed, reference.summed),
        ("merged tokens", found.merged, reference.merged),
        ("merged rows' gradient", found.merged_rows_gradient, reference.merged_rows_gradient),
    )
    return (
        *(_copy(check, one, other) for check, one, other in copies),
        *(line for check, one, other in sums for line in judged_bf16("MoE layer", "", check, one, other)),
        _dot_products(case, found.merging_gradient, reference.merging_gradient),
    )


def _copy(check: str, found: Tensor, expected: Tensor) -> Judged:
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise TypeError(f"{check}: {found.dtype} {tuple(found.shape)}, not {expected.dtype} {tuple(expected.shape)}")
    wrong = int((found != expected).sum())  # NaN differs from everything, so it counts
    return Judged(tensor="MoE layer", setting="", check=check, error=wrong, bound=0, elements=found.numel())


def _dot_products(case: Routed, found: Tensor, expected: Tensor) -> Judged:
    """Error over sum |x_i y_i|; its FP32 sum of H terms errs by about sqrt(H) 2^-24 of that, and 8 times is allowed."""
    width = case.tokens.shape[1]
    expert, token = case.mask.T.nonzero(as_tuple=True)
    terms = (case.expert_rows.double() * case.merged_gradient.index_select(0, token).double()).abs().sum(1)
    error = largest((found[token, expert].double() - expected[token, expert]) / terms)
    if int((found * ~case.mask != 0).sum()):
        error = float("inf")  # a gradient for an expert that the token does not use
    return Judged(
        tensor="MoE layer", setting="", check="merging probabilities' gradient", error=error,
        bound=8 * width**0.5 * FP32_ROUNDING, elements=found.numel(),
    )  # fmt: skip


def _case(subject: Subject, bench: Bench) -> Routed:
    """Random tokens, each with top_k experts by random scores: softmax over the chosen ones as probabilities."""
    sizes = _sizes(subject)
    tokens, hidden, experts, top_k = _REDUCED if bench.reduced else sizes
    generator = torch.Generator(device=bench.device).manual_seed(bench.seed)

    def normal(*size: int) -> Tensor:
        return torch.randn(*size, generator=generator, device=bench.device)

    scores, chosen = normal(tokens, experts).topk(top_k, dim=1)
    mask = torch.zeros(tokens, experts, dtype=torch.bool, device=bench.device).scatter_(1, chosen, value=True)
    return Routed(
        tokens=normal(tokens, hidden).bfloat16(),
        mask=mask,
        probabilities=torch.zeros(tokens, experts, device=bench.device).scatter_(1, chosen, scores.softmax(1)),
        expert_rows=normal(tokens * top_k, hidden).bfloat16(),
        permuted_gradient=normal(tokens * top_k, hidden).bfloat16(),
        permuted_probabilities_gradient=normal(tokens * top_k),
        merged_gradient=normal(tokens, hidden).bfloat16(),
    )


def _sizes(subject: Subject) -> tuple[int, int, int, int]:
    shape = subject.shape
    if shape.num_experts is None or shape.experts_per_token is None:
        what = f"{subject.model.name} is dense: it routes no tokens"
        mend = "name a model with experts"
        raise ProblemsError(Problem(place=Place(key="model"), rule="component-model", what=what, mend=mend))
    return min(subject.tokens, _MOST_TOKENS), shape.hidden_size, shape.num_experts, shape.experts_per_token


def _shape(subject: Subject, case: Routed, bench: Bench) -> str:
    (tokens, hidden), experts = case.tokens.shape, case.mask.shape[1]
    reduced = "reduced from " if bench.reduced else ""
    return (
        f"{reduced}{subject.model.name}: {tokens:,} tokens per rank of hidden size {hidden}, {experts} experts, "
        f"top-{case.rows // tokens}"
    )
