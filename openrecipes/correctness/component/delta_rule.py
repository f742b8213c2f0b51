"""The gated delta rule: token by token in FP64, and in chunks of 64 at a precision of one's choice.

One head keeps a state S of shape (K, V). Each token, with gate g <= 0 and strength beta:
    S = exp(g) S;   S = S + k beta (v - S^T k)^T;   o = S^T q / sqrt(K)
q and k are scaled to length 1 first. At the start of each sequence packed into a row the state is 0.
Source: Yang, Kautz, Hatamizadeh 2024, "Gated Delta Networks", equation 10 and section 3.3.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import torch
from torch import Tensor

_CHUNK: Final = 64
_EPS: Final = 1e-6  # beside the length of q and k

Rounding = Callable[[Tensor], Tensor]


@dataclass(frozen=True, kw_only=True, slots=True)
class DeltaCase:
    """q and k (T, heads, K), v (T, heads, V), beta (T, heads) in BF16; g (T, heads) in FP32; output gradient as v.

    `ends` are the first tokens of the packed sequences, and T.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    g: Tensor
    beta: Tensor
    gradient: Tensor
    ends: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class DeltaResult:
    """Output (T, heads, V) and the gradients of all inputs."""

    output: Tensor
    q_gradient: Tensor
    k_gradient: Tensor
    v_gradient: Tensor
    g_gradient: Tensor
    beta_gradient: Tensor

    def named(self) -> Iterator[tuple[str, Tensor]]:
        """Each tensor with what it is, the output first."""
        yield "output", self.output
        for name in ("q", "k", "v", "g", "beta"):
            gradient: Tensor = getattr(self, f"{name}_gradient")
            yield f"{name} gradient", gradient


def token_by_token(case: DeltaCase) -> DeltaResult:
    """The reference: FP64, gradients by automatic differentiation of the recurrence."""
    return _differentiated(case, torch.float64, _recurrent)


def in_chunks(case: DeltaCase) -> DeltaResult:
    """The stand-in: the chunked form in FP32."""
    return _differentiated(case, torch.float32, lambda *inputs: _chunked(*inputs, rounding=lambda value: value))


def in_bf16_chunks(case: DeltaCase) -> DeltaResult:
    """The chunked form in FP32 with the operands of every matrix product in BF16, forward and backward.

    Kernels for tensor cores must round there, so this is what one may expect of them. The output is BF16.
    """
    found = _differentiated(case, torch.float32, lambda *inputs: _chunked(*inputs, rounding=_to_bf16))
    return replace(found, output=found.output.bfloat16().float())


def _to_bf16(value: Tensor) -> Tensor:
    return value.bfloat16().float()  # differentiating the casts rounds the gradient too


def _differentiated(case: DeltaCase, dtype: torch.dtype, form: Callable[..., Tensor]) -> DeltaResult:
    inputs = [one.to(dtype).requires_grad_() for one in (case.q, case.k, case.v, case.g, case.beta)]
    outputs = []
    for first, last in zip(case.ends, case.ends[1:], strict=False):
        q, k, v, g, beta = (one[first:last] for one in inputs)
        outputs.append(form(_unit(q) * q.shape[-1] ** -0.5, _unit(k), v, g, beta))
    output = torch.cat(outputs)
    gradients = torch.autograd.grad(output, inputs, case.gradient.to(dtype))
    return DeltaResult(
        output=output.detach(),
        q_gradient=gradients[0],
        k_gradient=gradients[1],
        v_gradient=gradients[2],
        g_gradient=gradients[3],
        beta_gradient=gradients[4],
    )


def _unit(vectors: Tensor) -> Tensor:
    return vectors / (vectors.square().sum(-1, keepdim=True).sqrt() + _EPS)


def _recurrent(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Tensor:
    state = q.new_zeros(q.shape[1], q.shape[2], v.shape[2])
    outputs = []
    for token in range(len(q)):
        state = state * g[token].exp()[:, None, None]
        known = torch.einsum("hkv,hk->hv", state, k[token])
        change = beta[token][:, None] * (v[token] - known)
        state = state + torch.einsum("hk,hv->hkv", k[token], change)
        outputs.append(torch.einsum("hkv,hk->hv", state, q[token]))
    return torch.stack(outputs)


def _chunked(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, *, rounding: Rounding) -> Tensor:
    """Chunk by chunk: inside a chunk as triangular matrices, between chunks through the state."""

    def product(one: Tensor, other: Tensor) -> Tensor:
        return rounding(one) @ rounding(other)

    state = q.new_zeros(q.shape[1], q.shape[2], v.shape[2])
    outputs = []
    for first in range(0, len(q), _CHUNK):
        # Heads first: (heads, chunk, K or V), gates and strengths (heads, chunk, 1).
        queries, keys, values = (one[first : first + _CHUNK].transpose(0, 1) for one in (q, k, v))
        strength = beta[first : first + _CHUNK].T.unsqueeze(-1)
        gate = g[first : first + _CHUNK].T.cumsum(-1).unsqueeze(-1)
        # Decay from token j to a later i; the upper half is cut before exp, which would overflow there.
        decay = (gate - gate.transpose(1, 2)).tril().exp().tril()
        mixing = (strength * product(keys, keys.transpose(1, 2)) * decay).tril(-1)
        one = torch.eye(mixing.shape[-1], dtype=mixing.dtype, device=mixing.device)
        solved = torch.linalg.solve_triangular(one + mixing, one.expand_as(mixing), upper=False, unitriangular=True)
        wanted = product(solved, strength * values)
        known = product(product(solved, strength * gate.exp() * keys), state)
        change = wanted - known
        scores = product(queries, keys.transpose(1, 2)) * decay
        outputs.append(product(queries, state) * gate.exp() + product(scores, change))
        last = gate[:, -1:]
        state = state * last.exp() + product(((last - gate).exp() * keys).transpose(1, 2), change)
    return torch.cat(outputs, dim=1).transpose(0, 1)
