"""The gated delta rule in chunks against token by token in FP64, with two sequences packed into one row.

Bounds. Kernels for tensor cores round the operands of every matrix product to BF16, so their error depends on the
inputs. The floor is that of our own chunked form which rounds just there; the bound is four times that, and never
above 5 %. That form without rounding must agree with the reference to FP32 (chunks of 64 tokens: 4 x 64 x 2^-24), or
the floor would mean nothing; this is judged too. Tokens and heads are few, as FP64 goes token by token; heads do not
touch each other, so fewer heads leave nothing out.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import torch
from torch import Tensor

from openrecipes.catalog.model_parts import LinearAttention
from openrecipes.correctness.component.delta_rule import (
    DeltaCase,
    DeltaResult,
    in_bf16_chunks,
    in_chunks,
    token_by_token,
)
from openrecipes.correctness.component.frame import Bench, Findings, Judged, Tier
from openrecipes.correctness.component.mistake import Mistake, controls_of
from openrecipes.correctness.component.subject import Subject
from openrecipes.correctness.component.tensor_error import FP32_ROUNDING, relative_l2
from openrecipes.problems import Place, Problem, ProblemsError

_CHUNK: Final = 64
_FP32_BOUND: Final = 4 * _CHUNK * FP32_ROUNDING
_FLOORS: Final = 4
_WORST_BOUND: Final = 0.05
_HEADS: Final = 4
_ENDS: Final = (0, 130, 300)  # neither sequence a multiple of the chunk
_REDUCED_HEADS: Final = 2
_REDUCED_ENDS: Final = (0, 70, 150)
_REDUCED_WIDTH: Final = 16


class GatedDeltaNet:
    """The recurrence of linear-attention layers; the projections and the convolution around it are not in it."""

    name = "gated-delta-net"
    title = "chunked gated delta rule"
    reference = "the recurrence token by token in FP64"
    implementations: Final = {
        Tier.FLASH_LINEAR_ATTENTION: "flash-linear-attention chunk_gated_delta_rule in BF16, forward and backward",
        Tier.TORCH_GPU: "the chunked form in PyTorch in FP32",
        Tier.TORCH_CPU: "the chunked form in PyTorch in FP32",
    }

    def examine(self, subject: Subject, bench: Bench) -> Findings:
        """At the model's head sizes."""
        sizes = _sizes(subject)
        case = _case(sizes, bench)
        judge = _Judge(case, kernel=not bench.tier.is_stand_in)
        run = _implementation(bench.tier)
        tokens, heads, key_width = case.k.shape
        reduced = "reduced from " if bench.reduced else ""
        return Findings(
            shape=f"{reduced}{subject.model.name}: {heads} of {sizes.num_value_heads} heads, key and value width "
            f"{key_width} and {case.v.shape[-1]}, {len(case.ends) - 1} sequences packed into {tokens} tokens",
            judged=(*judge(case, run(case)), *judge.own_form()),
            controls=controls_of(mistakes(), case, run, judge),
        )


def _implementation(tier: Tier) -> Callable[[DeltaCase], DeltaResult]:
    if tier is Tier.FLASH_LINEAR_ATTENTION:
        from openrecipes.correctness.component.fla_functions import gated_delta_rule  # noqa: PLC0415  (needs fla)

        return gated_delta_rule
    return in_chunks


class _Judge:
    """Holds the reference and the floors of one case, which every control needs again."""

    def __init__(self, case: DeltaCase, *, kernel: bool) -> None:
        self._exact = dict(token_by_token(case).named())
        self._unrounded = dict(in_chunks(case).named())
        rounded = dict(in_bf16_chunks(case).named())
        self._kernel = kernel
        self._floor = {name: relative_l2(rounded[name], exact) for name, exact in self._exact.items()}
        self._token_floor = {name: _worst_token(rounded[name], exact) for name, exact in self._exact.items()}

    def __call__(self, _case: DeltaCase, found: DeltaResult) -> tuple[Judged, ...]:
        """Each tensor as a whole, and its worst token."""
        return tuple(line for name, tensor in found.named() for line in self._lines(name, tensor))

    def own_form(self) -> tuple[Judged, ...]:
        """The chunked form that the floors come from, held against the reference without its rounding."""
        return tuple(
            self._line("own chunked form in FP32", name, relative_l2(self._unrounded[name], exact), _FP32_BOUND, None)
            for name, exact in self._exact.items()
        )

    def _lines(self, name: str, found: Tensor) -> tuple[Judged, Judged]:
        exact = self._exact[name]
        whole, token = relative_l2(found, exact), _worst_token(found, exact)
        if not self._kernel:
            return (
                self._line("delta rule", name, whole, _FP32_BOUND, None),
                self._line("delta rule", f"{name} (worst token)", token, _FLOORS * _FP32_BOUND, None),
            )
        floor, token_floor = self._floor[name], self._token_floor[name]
        return (
            self._line("delta rule", name, whole, min(_FLOORS * floor, _WORST_BOUND), floor),
            self._line("delta rule", f"{name} (worst token)", token, _FLOORS * token_floor, token_floor),
        )

    def _line(self, tensor: str, check: str, error: float, bound: float, floor: float | None) -> Judged:
        elements = self._exact[check.removesuffix(" (worst token)")].numel()
        return Judged(tensor=tensor, setting="", check=check, error=error, bound=bound, floor=floor, elements=elements)


def _worst_token(found: Tensor, exact: Tensor) -> float:
    """The largest error of one token, over the RMS size of all tokens."""
    rows = len(exact)
    difference = (found.double() - exact).view(rows, -1).norm(dim=1)
    return float(difference.max() / exact.view(rows, -1).norm(dim=1).square().mean().sqrt())


def mistakes() -> Iterator[Mistake[DeltaCase, DeltaResult]]:
    """Spoilt delta rules."""
    yield Mistake(name="gate", spoilt="no decay", case=lambda sound: replace(sound, g=torch.zeros_like(sound.g)))
    yield Mistake(
        name="strength", spoilt="beta 1 everywhere", case=lambda sound: replace(sound, beta=torch.ones_like(sound.beta))
    )
    yield Mistake(
        name="boundary",
        spoilt="the state carried on from one packed sequence to the next",
        case=lambda sound: replace(sound, ends=(0, sound.ends[-1])),
    )
    yield Mistake(name="chunks", spoilt="the state lost between chunks", case=_lost_state)
    yield Mistake(
        name="heads", spoilt="keys of the next head", case=lambda sound: replace(sound, k=sound.k.roll(1, dims=1))
    )
    yield Mistake(
        name="order", spoilt="values one token late", case=lambda sound: replace(sound, v=sound.v.roll(1, dims=0))
    )
    yield Mistake(
        name="scale",
        spoilt="output not divided by sqrt(K)",
        result=lambda case, found: replace(found, output=found.output * case.q.shape[-1] ** 0.5),
    )
    yield Mistake(name="one token", spoilt="one token's output lost", result=_lost_token)
    yield Mistake(
        name="gate's gradient",
        spoilt="the gate's gradient without later tokens of its chunk",
        result=_short_gate_gradient,
    )
    yield Mistake(
        name="strength's gradient",
        spoilt="beta's gradient off by a tenth",
        result=lambda _case, found: replace(found, beta_gradient=found.beta_gradient * 1.1),
    )


def _lost_state(sound: DeltaCase) -> DeltaCase:
    starts = {
        start for first, last in zip(sound.ends, sound.ends[1:], strict=False) for start in range(first, last, _CHUNK)
    }
    return replace(sound, ends=(*sorted(starts), sound.ends[-1]))


def _lost_token(_case: DeltaCase, found: DeltaResult) -> DeltaResult:
    output = found.output.clone()
    output[len(output) // 2] = 0
    return replace(found, output=output)


def _short_gate_gradient(_case: DeltaCase, found: DeltaResult) -> DeltaResult:
    """As if a gate decayed only its own token: the differences of the gradients that a suffix sum had added up."""
    gradient = found.g_gradient.clone()
    gradient[:-1] -= found.g_gradient[1:]
    return replace(found, g_gradient=gradient)


def _sizes(subject: Subject) -> LinearAttention:
    sizes = subject.shape.linear_attention
    if sizes is None:
        what = f"{subject.model.name} has no linear attention"
        mend = "name a model with gated delta net layers"
        raise ProblemsError(Problem(place=Place(key="model"), rule="component-model", what=what, mend=mend))
    return sizes


def _case(sizes: LinearAttention, bench: Bench) -> DeltaCase:
    """Random vectors; gates of heads that remember for a token or for hundreds; strengths between 0 and 1."""
    heads, ends = (_REDUCED_HEADS, _REDUCED_ENDS) if bench.reduced else (_HEADS, _ENDS)
    key_width, value_width = (
        (_REDUCED_WIDTH, _REDUCED_WIDTH) if bench.reduced else (sizes.key_head_dim, sizes.value_head_dim)
    )
    tokens = ends[-1]
    generator = torch.Generator(device=bench.device).manual_seed(bench.seed)

    def normal(*size: int) -> Tensor:
        return torch.randn(*size, generator=generator, device=bench.device)

    rates = torch.logspace(-2.3, -0.3, heads, device=bench.device)
    return DeltaCase(
        q=normal(tokens, heads, key_width).bfloat16(),
        k=normal(tokens, heads, key_width).bfloat16(),
        v=normal(tokens, heads, value_width).bfloat16(),
        g=-rates * torch.nn.functional.softplus(normal(tokens, heads)),
        beta=normal(tokens, heads).sigmoid().bfloat16(),
        gradient=normal(tokens, heads, value_width).bfloat16(),
        ends=ends,
    )
