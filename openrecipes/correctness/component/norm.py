"""RMSNorm: what goes in, what comes out, in FP32 and exactly."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True, slots=True)
class NormCase:
    """Input and output gradient of shape (tokens, width), gain (width,), all BF16."""

    tensor: str
    x: Tensor
    gain: Tensor
    gradient: Tensor
    eps: float
    zero_centred: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class NormResult:
    """Output, and the gradients of input and gain."""

    output: Tensor
    x_gradient: Tensor
    gain_gradient: Tensor


def in_fp32(case: NormCase) -> NormResult:
    """The stand-in: FP32 arithmetic and automatic differentiation, results rounded once."""
    x, gain = case.x.float().requires_grad_(), case.gain.float().requires_grad_()
    normalised = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + case.eps)
    output = normalised * ((1 + gain) if case.zero_centred else gain)
    x_gradient, gain_gradient = torch.autograd.grad(output, (x, gain), case.gradient.float())
    return NormResult(
        output=output.detach().bfloat16(),
        x_gradient=x_gradient.bfloat16(),
        gain_gradient=gain_gradient.bfloat16(),
    )


def exact(case: NormCase) -> NormResult:
    """The same in FP64, gradients by their formulas."""
    x, gain, gradient = case.x.double(), case.gain.double(), case.gradient.double()
    inverse = (x.square().mean(-1, keepdim=True) + case.eps).rsqrt()
    normalised, scale = x * inverse, (1 + gain) if case.zero_centred else gain
    scaled = gradient * scale
    return NormResult(
        output=normalised * scale,
        x_gradient=inverse * (scaled - normalised * (scaled * normalised).mean(-1, keepdim=True)),
        gain_gradient=(gradient * normalised).sum(0),
    )
