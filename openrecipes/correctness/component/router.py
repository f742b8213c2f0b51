"""The router in FP32: logits, top-k, softmax and their gradients, against FP64.

Arithmetic and bounds. Logits: products of BF16 values are exact in FP32, a sum of H of them errs by about
sqrt(H) 2^-24 of sum |x_i w_i|, and 8 times is allowed. Choice: a token may differ from FP64's top-k only where the
logits that decide lie within twice that. Probabilities, held against FP64 softmax of the candidate's own logits: a few
units of FP32 for exp, sum and division; 64 x 2^-24 is allowed. Gradients: FP32 sums rounded once to BF16, see
rounded.py.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import torch
from torch import Tensor

from openrecipes.correctness.component.frame import Bench, Findings, Judged, Tier
from openrecipes.correctness.component.mistake import Mistake, controls_of
from openrecipes.correctness.component.rounded import judged_bf16
from openrecipes.correctness.component.routing import (
    RouterCase,
    RouterResult,
    choose_in_fp32,
    exact,
    exact_probabilities,
    gate_in_fp32,
    routed,
)
from openrecipes.correctness.component.subject import Subject
from openrecipes.correctness.component.tensor_error import FP32_ROUNDING, largest
from openrecipes.problems import Place, Problem, ProblemsError

_WEIGHT_SD: Final = 0.02
_MOST_TOKENS: Final = 8192
_REDUCED: Final = (256, 64, 16, 4)  # tokens, hidden size, experts, experts a token
_PROBABILITY_BOUND: Final = 64 * FP32_ROUNDING


class Router:
    """The router of a model that scores experts by softmax."""

    name = "router"
    title = "MoE router"
    reference = "an FP64 reference"
    implementations: Final = {
        Tier.MEGATRON_CORE: "Megatron-LM router in FP32 (topk_routing_with_score_function), forward and backward",
        Tier.TRANSFORMER_ENGINE: "TE fused_topk_with_score_function, as with --moe-router-fusion, forward and backward",
        Tier.TORCH_GPU: "PyTorch in FP32",
        Tier.TORCH_CPU: "PyTorch in FP32",
    }

    def examine(self, subject: Subject, bench: Bench) -> Findings:
        """One microbatch of a rank's tokens."""
        run, case = _implementation(bench.tier), _case(subject, bench)
        (tokens, hidden), experts = case.hidden.shape, len(case.weight)
        reduced = "reduced from " if bench.reduced else ""
        return Findings(
            shape=f"{reduced}{subject.model.name}: {tokens:,} tokens per rank of hidden size {hidden}, "
            f"{experts} experts, top-{case.top_k}",
            judged=judge(case, run(case)),
            controls=controls_of(mistakes(), case, run, judge),
        )


def _implementation(tier: Tier) -> Callable[[RouterCase], RouterResult]:
    if tier is Tier.MEGATRON_CORE:
        from openrecipes.correctness.component import megatron_functions  # noqa: PLC0415  (needs Megatron-LM)

        return lambda case: routed(case, megatron_functions.gate, megatron_functions.choose)
    if tier is Tier.TRANSFORMER_ENGINE:
        from openrecipes.correctness.component.te_functions import choose  # noqa: PLC0415  (needs TE)

        return lambda case: routed(case, gate_in_fp32, choose)
    return in_fp32


def in_fp32(case: RouterCase) -> RouterResult:
    """The stand-in."""
    return routed(case, gate_in_fp32, choose_in_fp32)


def judge(case: RouterCase, found: RouterResult) -> tuple[Judged, ...]:
    """Logits, choice, probabilities and gradients."""
    reference = exact(case, found.mask)
    bound = 8 * case.hidden.shape[1] ** 0.5 * FP32_ROUNDING
    error = largest((found.logits.double() - reference.logits) / reference.sizes)
    own = exact_probabilities(found.logits, found.mask, pre_softmax=case.pre_softmax)
    # Where nothing was chosen there is no probability: that is the business of the choice.
    relative = torch.where(found.mask, (found.probabilities.double() - own) / own, 0.0).nan_to_num(nan=float("inf"))
    return (
        _line("logits", error, bound, found.logits),
        _line("choice", _wrong_choices(case, found, reference.logits, bound * reference.sizes), 0, found.mask),
        _line("probabilities", largest(relative), _PROBABILITY_BOUND, found.probabilities),
        _line("unchosen are 0", int(((found.probabilities != 0) & ~found.mask).sum()), 0, found.probabilities),
        *judged_bf16("router", "", "hidden gradient", found.hidden_gradient, reference.hidden_gradient),
        *judged_bf16("router", "", "weight gradient", found.weight_gradient, reference.weight_gradient),
    )


def _line(check: str, error: float, bound: float, over: Tensor) -> Judged:
    return Judged(tensor="router", setting="", check=check, error=error, bound=bound, elements=over.numel())


def _wrong_choices(case: RouterCase, found: RouterResult, logits: Tensor, errors: Tensor) -> int:
    """Tokens with another number of experts, or an expert that lies below an unchosen one by more than rounding."""
    worst_chosen = logits.masked_fill(~found.mask, float("inf")).amin(1)
    best_other = logits.masked_fill(found.mask, float("-inf")).amax(1)
    wrong = (found.mask.sum(1) != case.top_k) | (worst_chosen < best_other - 2 * errors.amax(1))
    return int(wrong.sum())


def mistakes() -> Iterator[Mistake[RouterCase, RouterResult]]:
    """Spoilt routers."""
    yield Mistake(
        name="logits in BF16",
        spoilt="logits rounded to BF16",
        result=lambda _case, found: replace(found, logits=found.logits.bfloat16().float()),
    )
    yield Mistake(
        name="softmax in BF16",
        spoilt="probabilities rounded to BF16",
        result=lambda _case, found: replace(found, probabilities=found.probabilities.bfloat16().float()),
    )
    yield Mistake(
        name="softmax over the others",
        spoilt="softmax among all experts for among the chosen, or the other way round",
        case=lambda sound: replace(sound, pre_softmax=not sound.pre_softmax),
    )
    yield Mistake(
        name="experts shifted",
        spoilt="the weight's experts shifted by one",
        case=lambda sound: replace(sound, weight=sound.weight.roll(1, dims=0)),
    )
    yield Mistake(
        name="one expert fewer",
        spoilt="top-(k - 1) for top-k",
        case=lambda sound: replace(sound, top_k=sound.top_k - 1),
    )
    yield Mistake(name="one wrong expert", spoilt="one token sent to its worst expert", result=_worst_expert)
    yield Mistake(name="leak", spoilt="one unchosen expert with a probability", result=_leak)
    yield Mistake(
        name="softmax gradient",
        spoilt="the hidden gradient as if probabilities did not add up to 1",
        result=_without_normalisation,
    )
    yield Mistake(
        name="weight gradient",
        spoilt="one token left out of the weight gradient",
        result=_token_left_out,
    )


def _worst_expert(_case: RouterCase, found: RouterResult) -> RouterResult:
    """Token 0's weakest choice exchanged for the lowest logit of all, the probability taken along."""
    logits = found.logits[0]
    weakest = int(logits.masked_fill(~found.mask[0], float("inf")).argmin())
    lowest = int(logits.masked_fill(found.mask[0], float("inf")).argmin())
    mask, probabilities = found.mask.clone(), found.probabilities.clone()
    mask[0, weakest], mask[0, lowest] = False, True
    probabilities[0, lowest], probabilities[0, weakest] = found.probabilities[0, weakest], 0.0
    return replace(found, mask=mask, probabilities=probabilities)


def _leak(_case: RouterCase, found: RouterResult) -> RouterResult:
    probabilities = found.probabilities.clone()
    probabilities[0, int((~found.mask[0]).int().argmax())] = 1e-3
    return replace(found, probabilities=probabilities)


def _without_normalisation(case: RouterCase, found: RouterResult) -> RouterResult:
    logits_gradient = case.gradient * found.probabilities
    return replace(found, hidden_gradient=(logits_gradient @ case.weight.float()).bfloat16())


def _token_left_out(case: RouterCase, found: RouterResult) -> RouterResult:
    p, gradient = found.probabilities[0], case.gradient[0]
    own = torch.outer(p * (gradient - (gradient * p).sum()), case.hidden[0].float())
    return replace(found, weight_gradient=(found.weight_gradient.float() - own).bfloat16())


def _case(subject: Subject, bench: Bench) -> RouterCase:
    tokens, hidden, experts, top_k = _REDUCED if bench.reduced else _sizes(subject)
    flags = {argument.flag: argument.values for argument in subject.model.architecture_arguments()}
    if flags.get("--moe-router-score-function") != ("softmax",):
        what = f"{subject.model.name} has no router that scores by softmax"
        mend = "name a model whose experts are chosen by softmax"
        raise ProblemsError(Problem(place=Place(key="model"), rule="component-model", what=what, mend=mend))
    generator = torch.Generator(device=bench.device).manual_seed(bench.seed)

    def normal(*size: int) -> Tensor:
        return torch.randn(*size, generator=generator, device=bench.device)

    return RouterCase(
        hidden=normal(tokens, hidden).bfloat16(),
        weight=(normal(experts, hidden) * _WEIGHT_SD).bfloat16(),
        gradient=normal(tokens, experts),
        top_k=top_k,
        pre_softmax="--moe-router-pre-softmax" in flags,
    )


def _sizes(subject: Subject) -> tuple[int, int, int, int]:
    shape = subject.shape
    experts, top_k = shape.num_experts or 0, shape.experts_per_token or 0
    return min(subject.tokens, _MOST_TOKENS), shape.hidden_size, experts, top_k
