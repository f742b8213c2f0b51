"""RMSNorm, with gains around 1 or around 0 (x / rms(x) * (1 + p)), forward and backward, against FP64.

Arithmetic: BF16 in and out, FP32 between. So every result may differ from FP64 by one BF16 rounding and by FP32
sums over the hidden size (output, input gradient) or the tokens (gain gradient); see rounded.py for the bounds.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import torch
from torch import Tensor

from openrecipes.correctness.component.frame import Bench, Findings, Judged, Tier
from openrecipes.correctness.component.layer_tensors import is_zero_centred
from openrecipes.correctness.component.mistake import Mistake, controls_of
from openrecipes.correctness.component.norm import NormCase, NormResult, exact, in_fp32
from openrecipes.correctness.component.rounded import judged_bf16
from openrecipes.correctness.component.subject import Subject

_GAIN_SD: Final = 0.05
_SMALL: Final = 1e-3
_REDUCED_TOKENS: Final = 256
_MOST_TOKENS: Final = 8192
_REDUCED_WIDTHS: Final = {"hidden": 256, "head": 64}
_BF16_SUMS: Final = 64


class RmsNorm:
    """The norms at the hidden size and at the head size."""

    name = "rms-norm"
    title = "RMSNorm"
    reference = "an FP64 reference"
    implementations: Final = {
        Tier.TRANSFORMER_ENGINE: "TE RMSNorm in BF16, forward and backward",
        Tier.TORCH_GPU: "PyTorch with FP32 arithmetic",
        Tier.TORCH_CPU: "PyTorch with FP32 arithmetic",
    }

    def examine(self, subject: Subject, bench: Bench) -> Findings:
        """Every width that the model normalises over; controls at the hidden size."""
        run = _implementation(bench.tier)
        cases = tuple(_cases(subject, bench))
        judged = tuple(line for case in cases for line in judge(case, run(case)))
        return Findings(
            shape=_shape(subject, cases, bench),
            judged=judged,
            controls=controls_of(mistakes(cases[0]), cases[0], run, judge),
        )


def _implementation(tier: Tier) -> Callable[[NormCase], NormResult]:
    if tier is Tier.TRANSFORMER_ENGINE:
        from openrecipes.correctness.component.te_functions import rms_norm  # noqa: PLC0415  (needs TE)

        return rms_norm
    return in_fp32


def judge(case: NormCase, found: NormResult) -> tuple[Judged, ...]:
    """Output and both gradients against FP64."""
    reference = exact(case)
    return (
        *judged_bf16(case.tensor, "", "output", found.output, reference.output),
        *judged_bf16(case.tensor, "", "input gradient", found.x_gradient, reference.x_gradient),
        *judged_bf16(case.tensor, "", "gain gradient", found.gain_gradient, reference.gain_gradient),
    )


def mistakes(case: NormCase) -> Iterator[Mistake[NormCase, NormResult]]:
    """Spoilt norms."""
    around, other = ("1 + p", "p") if case.zero_centred else ("p", "1 + p")
    yield Mistake(
        name="gain",
        spoilt=f"gain {other} for {around}",
        case=lambda sound: replace(sound, zero_centred=not sound.zero_centred),
    )
    if case.zero_centred:
        yield Mistake(
            name="gain in BF16",
            spoilt="1 + p rounded to BF16 before it is used",
            case=lambda sound: replace(sound, gain=1 + sound.gain, zero_centred=False),
        )
    yield Mistake(name="eps", spoilt="eps a hundredfold", case=lambda sound: replace(sound, eps=sound.eps * 100))
    yield Mistake(
        name="layer norm",
        spoilt="the mean subtracted",
        case=lambda sound: replace(sound, x=sound.x - sound.x.mean(-1, keepdim=True)),
    )
    yield Mistake(name="second rounding", spoilt="input rounded to 7 bits", case=_coarse_input)
    yield Mistake(name="one element", spoilt="one output element off by 1 %", result=_one_element)
    yield Mistake(name="projection", spoilt="input gradient as if the RMS were a constant", result=_without_projection)
    yield Mistake(name="sums in BF16", spoilt="gain gradient summed over tokens in BF16", result=_summed_in_bf16)


def _coarse_input(sound: NormCase) -> NormCase:
    bits = sound.x.view(torch.int16) & ~1
    return replace(sound, x=bits.view(torch.bfloat16))


def _one_element(_case: NormCase, found: NormResult) -> NormResult:
    output = found.output.clone()
    output[0, 0] = output[0, 0] * 1.01
    return replace(found, output=output)


def _without_projection(case: NormCase, found: NormResult) -> NormResult:
    x = case.x.float()
    inverse = (x.square().mean(-1, keepdim=True) + case.eps).rsqrt()
    scale = (1 + case.gain.float()) if case.zero_centred else case.gain.float()
    return replace(found, x_gradient=(inverse * case.gradient.float() * scale).bfloat16())


def _summed_in_bf16(case: NormCase, found: NormResult) -> NormResult:
    x = case.x.float()
    terms = case.gradient.float() * x * (x.square().mean(-1, keepdim=True) + case.eps).rsqrt()
    total = torch.zeros_like(case.gain)
    for part in terms.chunk(_BF16_SUMS):
        total = total + part.sum(0).bfloat16()
    return replace(found, gain_gradient=total)


def _cases(subject: Subject, bench: Bench) -> Iterator[NormCase]:
    """The norms before attention and MLP, and those of queries and keys."""
    shape, zero_centred = subject.shape, is_zero_centred(subject)
    widths = {"hidden": shape.hidden_size, "head": shape.head_dim}
    tokens = min(subject.tokens, _MOST_TOKENS)
    if bench.reduced:
        widths, tokens = _REDUCED_WIDTHS, _REDUCED_TOKENS
    for name, width in widths.items():
        generator = torch.Generator(device=bench.device).manual_seed(bench.seed + width)

        def normal(*size: int, generator: torch.Generator = generator) -> Tensor:
            return torch.randn(*size, generator=generator, device=bench.device)

        x = normal(tokens, width)
        gradient = normal(tokens, width)
        # Rows so small that eps decides; their input gradient shall not outweigh that of the others.
        x[::8] *= _SMALL
        gradient[::8] *= _SMALL
        gain = normal(width) * _GAIN_SD + (0 if zero_centred else 1)
        yield NormCase(
            tensor=f"{name} norm, width {width}",
            x=x.bfloat16(),
            gain=gain.bfloat16(),
            gradient=gradient.bfloat16(),
            eps=subject.model.config.rms_norm_eps,
            zero_centred=zero_centred,
        )


def _shape(subject: Subject, cases: tuple[NormCase, ...], bench: Bench) -> str:
    widths = " and ".join(str(case.x.shape[1]) for case in cases)
    form = "x / rms(x) * (1 + p)" if cases[0].zero_centred else "x / rms(x) * p"
    reduced = "reduced from " if bench.reduced else ""
    return f"{reduced}{subject.model.name}: widths {widths}, {len(cases[0].x):,} tokens, {form}, eps {cases[0].eps:g}"
