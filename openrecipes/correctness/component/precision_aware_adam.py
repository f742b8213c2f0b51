"""Adam whose FP32 masters are the BF16 weight plus a 16-bit remainder, against AdamW in FP64.

One tensor after another, so that a layer with its experts fits one GPU. A single step shows little: Adam's first
update is g / (|g| + eps) whatever the betas and the gradient's scale. So three steps are taken, and moments judged.
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from openrecipes import units
from openrecipes.correctness.component.adam_arm import AdamSettings, MakeArm
from openrecipes.correctness.component.adam_controls import SOUND, AdamControl, SpoiltArm, controls, visible
from openrecipes.correctness.component.adam_reference import AdamReference, judge
from openrecipes.correctness.component.frame import Bench, Control, Findings, Judged, Tier, control, worst_of_each
from openrecipes.correctness.component.layer_tensors import (
    LayerTensor,
    counted,
    elements_of,
    layer_kinds,
    layer_tensors,
)
from openrecipes.correctness.component.subject import Subject

_STEPS: Final = 3
_HIGH_RATE: Final = 1e-3  # at which the published error was measured
_CONTROL_ELEMENTS: Final = 4_194_304  # what a control needs at most
_WEIGHT_SD: Final = 0.02
_GRADIENT_SD: Final = 1e-3
_ZERO_GRADIENTS: Final = 0.2  # of an expert's gradient


class PrecisionAwareAdam:
    """The optimizer that `--use-precision-aware-optimizer` selects."""

    name = "precision-aware-adam"
    title = "precision-aware Adam"
    reference = "an FP64 reference"
    implementations: Final = {
        Tier.TRANSFORMER_ENGINE: "TE FusedAdam, FP32 masters stored as BF16 parameter plus remainder",
        Tier.TORCH_GPU: "the same remainder arithmetic in PyTorch",
        Tier.TORCH_CPU: "the same remainder arithmetic in PyTorch",
    }

    def examine(self, subject: Subject, bench: Bench) -> Findings:
        """Every tensor of one layer of each kind at two rates, one and three steps; then the controls."""
        make = _implementation(bench.tier)
        tensors = layer_tensors(subject, reduced=bench.reduced)
        judged = worst_of_each(
            line for tensor, copy in counted(tensors) for line in _judged(tensor, copy, subject, bench, make)
        )
        found = tuple(
            _control(each, _control_tensor(tensors), subject, bench, make) for each in controls(_settings(subject))
        )
        return Findings(shape=_shape(subject, tensors, bench), judged=judged, controls=found)


def _implementation(tier: Tier) -> MakeArm:
    if tier is Tier.TRANSFORMER_ENGINE:
        from openrecipes.correctness.component.adam_te import TransformerEngineArm  # noqa: PLC0415  (needs TE)

        return TransformerEngineArm
    from openrecipes.correctness.component.adam_torch import TorchArm  # noqa: PLC0415  (beside its counterpart)

    return TorchArm


def _settings(subject: Subject, *, lr: float | None = None, decayed: bool = True) -> AdamSettings:
    values = subject.adam
    return AdamSettings(
        lr=values.lr if lr is None else lr,
        beta1=values.beta1,
        beta2=values.beta2,
        eps=values.eps,
        weight_decay=values.weight_decay if decayed else 0.0,
    )


def _judged(tensor: LayerTensor, copy: int, subject: Subject, bench: Bench, make: MakeArm) -> Iterator[Judged]:
    """One tensor: after one step at the high rate, after one and three at the recipe's own."""
    case = _case(tensor, copy, bench)
    for lr, judged_after in ((_HIGH_RATE, (1,)), (subject.adam.lr, (1, _STEPS))):
        settings = _settings(subject, lr=lr, decayed=tensor.decayed)
        yield from _compared(case, settings, make, judged_after)


def _compared(
    case: "_Case", settings: AdamSettings, make: MakeArm, judged_after: tuple[int, ...], spoil: AdamControl = SOUND
) -> Iterator[Judged]:
    """The remainder arm beside explicit masters and FP64, judged after these steps; both arms may be spoilt.

    A mistake in the arithmetic spoils both arms alike, so that their bitwise comparison does not see it.
    """
    reference = AdamReference(case.weight, settings)
    tested = SpoiltArm(make, case.weight, settings, spoil)
    explicit = SpoiltArm(make, case.weight, settings, spoil.with_explicit_masters)
    for step, gradient in enumerate(case.gradients[: max(judged_after)], start=1):
        for arm in (reference, tested, explicit):
            arm.step(gradient)
        if step in judged_after:
            setting = f"{step} step{'s' if step > 1 else ''} at lr {settings.lr:g}"
            yield from judge(case.tensor, setting, reference, tested.state(), explicit.state())


def _control(spoil: AdamControl, tensor: LayerTensor, subject: Subject, bench: Bench, make: MakeArm) -> Control:
    """What catches the mistake. Its sound base must pass, or catching it would mean nothing."""
    case, base = _case(tensor, 0, bench), spoil.base(visible(_settings(subject)))

    def compared(spoilt: AdamControl) -> tuple[Judged, ...]:
        return tuple(_compared(case, base, make, (1, _STEPS), spoilt))

    return control(spoil.name, spoil.spoilt, sound=lambda: compared(SOUND), spoilt_judged=lambda: compared(spoil))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Case:
    """One tensor to update: its BF16 weight, and an FP32 gradient for each step."""

    tensor: str
    weight: Tensor
    gradients: tuple[Tensor, ...]


def _case(tensor: LayerTensor, copy: int, bench: Bench) -> _Case:
    return _Case(tensor=tensor.name, weight=_start(tensor, copy, bench), gradients=_gradients(tensor, copy, bench))


def _control_tensor(tensors: tuple[LayerTensor, ...]) -> LayerTensor:
    """The largest matrix that controls need not wait for, else the smallest."""
    matrices = [tensor for tensor in tensors if tensor.start == "normal" and len(tensor.shape) > 1]
    handy = [tensor for tensor in matrices if tensor.elements <= _CONTROL_ELEMENTS]
    size: Callable[[LayerTensor], int] = lambda tensor: tensor.elements  # noqa: E731  (typed for both calls)
    return max(handy, key=size) if handy else min(matrices, key=size)


def _generator(tensor: LayerTensor, copy: int, purpose: str, bench: Bench) -> torch.Generator:
    """A generator of its own for each tensor, copy and purpose, the same on every run."""
    mixed = zlib.crc32(f"{tensor.name}/{copy}/{purpose}".encode())
    return torch.Generator(device=bench.device).manual_seed(bench.seed + mixed)


def _start(tensor: LayerTensor, copy: int, bench: Bench) -> Tensor:
    """The tensor's BF16 weight: values as a model has them."""
    generator = _generator(tensor, copy, "weight", bench)
    if tensor.start == "normal":
        drawn = torch.randn(tensor.shape, generator=generator, device=bench.device) * _WEIGHT_SD
    elif tensor.start == "log uniform":  # A_log: the logarithm of a rate between 0 and 16
        drawn = torch.rand(tensor.shape, generator=generator, device=bench.device).mul_(16).clamp_(min=0.01).log_()
    else:
        drawn = torch.full(tensor.shape, float(tensor.start == "ones"), device=bench.device)
    return drawn.to(torch.bfloat16)


def _gradients(tensor: LayerTensor, copy: int, bench: Bench) -> tuple[Tensor, ...]:
    """One FP32 gradient a step; an expert's has exact zeros, as where no token came by."""
    generator = _generator(tensor, copy, "gradient", bench)
    drawn = []
    for _ in range(_STEPS):
        gradient = torch.randn(tensor.shape, generator=generator, device=bench.device) * _GRADIENT_SD
        if tensor.sparse_gradient:
            gradient *= torch.rand(tensor.shape, generator=generator, device=bench.device) >= _ZERO_GRADIENTS
        drawn.append(gradient)
    return tuple(drawn)


def _shape(subject: Subject, tensors: tuple[LayerTensor, ...], bench: Bench) -> str:
    shape = subject.shape
    kinds = " and ".join(kind.mixer.replace("_", " ") for kind in layer_kinds(subject))
    experts = (
        f", {shape.num_experts} experts, top-{shape.experts_per_token}, expert FFN {shape.moe_ffn_hidden_size}, "
        f"EP {subject.ep}, ETP {subject.etp}"
        if shape.num_experts
        else f", FFN {shape.ffn_hidden_size}"
    )
    number = sum(tensor.copies for tensor in tensors)
    reduced = "reduced from " if bench.reduced else ""
    return (
        f"{reduced}one {subject.model.name} layer of each kind ({kinds}): hidden {shape.hidden_size}{experts}; "
        f"{number} tensors, {units.thousands(elements_of(tensors))} elements"
    )
