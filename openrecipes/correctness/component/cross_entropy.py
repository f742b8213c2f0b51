"""The loss over the padded vocabulary, split among tensor-parallel ranks as the recipe has it, against FP64.

What the ranks exchange (maximum, sum of exponentials, the target's logit) is added up in one process.
Bounds. Loss, absolute: with u = 2^-24, the differences to the maximum (below 32) bring 32 u, exp 2 u, a sum of
exponentials in blocks at most 64 u, log and the last difference another 30 u of a loss below 16; together 128 u.
Gradient: softmax x weight in FP32, rounded once to BF16, see rounded.py. The target's column is judged by itself: it
is near -1, and beside it an error in all others would not be seen.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import torch
from torch import Tensor

from openrecipes.correctness.component.frame import Bench, Findings, Judged, Tier
from openrecipes.correctness.component.mistake import Mistake, controls_of
from openrecipes.correctness.component.rounded import judged_bf16
from openrecipes.correctness.component.subject import Subject
from openrecipes.correctness.component.tensor_error import FP32_ROUNDING, largest
from openrecipes.correctness.component.vocab_parallel import (
    LossCase,
    LossResult,
    exact,
    in_fp32,
    padded_vocabulary,
)

_LOSS_BOUND: Final = 128 * FP32_ROUNDING
_LOGIT_SD: Final = 2.0
_MOST_TOKENS: Final = 1024
_REDUCED_TOKENS: Final = 64
_REDUCED_VOCABULARY: Final = 1000
_PADDING_UNIT: Final = 128


class CrossEntropy:
    """The loss that slime computes on every tensor-parallel rank."""

    name = "cross-entropy"
    title = "vocab-parallel cross-entropy"
    reference = "an FP64 reference over the whole padded vocabulary"
    implementations: Final = {
        Tier.MEGATRON_CORE: "Megatron-LM fused_vocab_parallel_cross_entropy, rank by rank, forward and backward",
        Tier.TORCH_GPU: "the same steps in PyTorch",
        Tier.TORCH_CPU: "the same steps in PyTorch",
    }

    def examine(self, subject: Subject, bench: Bench) -> Findings:
        """At the subject's tp."""
        run, case = _implementation(bench.tier), _case(subject, bench)
        tokens, columns = case.logits.shape
        reduced = "reduced from " if bench.reduced else ""
        return Findings(
            shape=f"{reduced}{subject.model.name}: vocabulary {case.vocabulary:,} padded to {columns:,}, TP {case.tp}, "
            f"{tokens:,} tokens",
            judged=judge(case, run(case)),
            controls=controls_of(mistakes(case), case, run, judge),
        )


def _implementation(tier: Tier) -> Callable[[LossCase], LossResult]:
    if tier is Tier.MEGATRON_CORE:
        from openrecipes.correctness.component.megatron_functions import vocab_parallel_loss  # noqa: PLC0415  (ditto)

        return vocab_parallel_loss
    return in_fp32


def judge(case: LossCase, found: LossResult) -> tuple[Judged, ...]:
    """Losses, the gradient at the target, and everywhere else."""
    loss, gradient = exact(case)
    index = case.targets.unsqueeze(1)
    error = largest(found.loss.double() - loss)
    return (
        Judged(tensor="loss", setting="", check="loss", error=error, bound=_LOSS_BOUND, elements=len(loss)),
        *judged_bf16(
            "logits", "", "gradient at the target", found.gradient.gather(1, index), gradient.gather(1, index)
        ),
        *judged_bf16(
            "logits",
            "",
            "gradient elsewhere",
            found.gradient.scatter(1, index, 0.0),
            gradient.scatter(1, index, 0.0),
            slack=0.0,
        ),
    )


def mistakes(case: LossCase) -> Iterator[Mistake[LossCase, LossResult]]:
    """Spoilt losses."""
    yield Mistake(
        name="target",
        spoilt="every target off by one",
        case=lambda sound: replace(sound, targets=(sound.targets + 1) % sound.vocabulary),
    )
    yield Mistake(
        name="padding left out", spoilt="the last 128 columns left out of the sum", case=_without_last_columns
    )
    if case.tp > 1:
        yield Mistake(name="own maximum", spoilt="sums of ranks added, each over its own maximum", result=_own_maximum)
        yield Mistake(name="own sum", spoilt="each rank's sum taken for the whole", result=_own_sum)
        yield Mistake(name="lost slice", spoilt="the last rank's gradient lost", result=_lost_slice)
    yield Mistake(
        name="scale",
        spoilt="logits scaled by 1 + 2^-8",
        case=lambda sound: replace(sound, logits=sound.logits * (1 + 2.0**-8)),
    )
    yield Mistake(
        name="loss in BF16",
        spoilt="losses rounded to BF16",
        result=lambda _case, found: replace(found, loss=found.loss.bfloat16().float()),
    )
    yield Mistake(name="target's gradient", spoilt="1 not subtracted at the target", result=_softmax_only)
    yield Mistake(name="second rounding", spoilt="softmax rounded to BF16 before it is weighted", result=_rounded_twice)


def _without_last_columns(sound: LossCase) -> LossCase:
    logits = sound.logits.clone()
    logits[:, -_PADDING_UNIT:] = float("-inf")
    return replace(sound, logits=logits)


def _own_maximum(case: LossCase, found: LossResult) -> LossResult:
    slices = case.logits.chunk(case.tp, dim=1)
    total = torch.stack([(one - one.amax(1, keepdim=True)).exp().sum(1) for one in slices]).sum(0)
    predicted = case.logits.gather(1, case.targets.unsqueeze(1)).squeeze(1)
    return replace(found, loss=total.log() - (predicted - case.logits.amax(1)))


def _own_sum(case: LossCase, found: LossResult) -> LossResult:
    own = torch.stack([torch.logsumexp(one, dim=1) for one in case.logits.chunk(case.tp, dim=1)], dim=1)
    rank = (case.targets // case.columns).unsqueeze(1)
    predicted = case.logits.gather(1, case.targets.unsqueeze(1)).squeeze(1)
    return replace(found, loss=own.gather(1, rank).squeeze(1) - predicted)


def _lost_slice(case: LossCase, found: LossResult) -> LossResult:
    gradient = found.gradient.clone()
    gradient[:, -case.columns :] = 0
    return replace(found, gradient=gradient)


def _softmax_only(case: LossCase, found: LossResult) -> LossResult:
    gradient = found.gradient.float().scatter_add_(1, case.targets.unsqueeze(1), case.weights.unsqueeze(1))
    return replace(found, gradient=gradient.bfloat16())


def _rounded_twice(case: LossCase, found: LossResult) -> LossResult:
    """The softmax off the target; at the target nothing changes."""
    softmax = case.logits.softmax(1).bfloat16().float()
    gradient = (softmax * case.weights.unsqueeze(1)).bfloat16()
    index = case.targets.unsqueeze(1)
    return replace(found, gradient=gradient.scatter(1, index, found.gradient.gather(1, index)))


def _case(subject: Subject, bench: Bench) -> LossCase:
    """Logits as a BF16 output layer gives them; targets at the ends of every rank's slice, else anywhere."""
    vocabulary = _REDUCED_VOCABULARY if bench.reduced else subject.shape.vocab_size
    tokens = _REDUCED_TOKENS if bench.reduced else min(subject.tokens, _MOST_TOKENS)
    padded = padded_vocabulary(vocabulary, subject.tp)
    generator = torch.Generator(device=bench.device).manual_seed(bench.seed)

    def normal(*size: int) -> Tensor:
        return torch.randn(*size, generator=generator, device=bench.device)

    targets = torch.randint(vocabulary, (tokens,), generator=generator, device=bench.device)
    columns = padded // subject.tp
    ends = [end for start in range(0, padded, columns) for end in (start, start + columns - 1) if end < vocabulary]
    targets[: len(ends)] = torch.tensor(ends, device=bench.device)[:tokens]
    return LossCase(
        logits=(normal(tokens, padded) * _LOGIT_SD).bfloat16().float(),
        targets=targets,
        weights=normal(tokens).abs() + 0.1,
        tp=subject.tp,
        vocabulary=vocabulary,
    )
