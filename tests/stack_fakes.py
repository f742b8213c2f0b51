"""Stand-ins with the names and signatures of the GPU libraries' functions, in PyTorch.

Written after Transformer Engine 2.10 and flash-linear-attention 0.4.1: they show that the adapters hand over and
collect the right things, in the right order and shape.
"""

import types
from itertools import pairwise

import torch

from openrecipes.correctness.component.delta_rule import _chunked, _unit


class RMSNorm(torch.nn.Module):
    def __init__(self, normalized_shape=None, eps=1e-5, *, zero_centered_gamma=False, device=None, dtype=None):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(normalized_shape, device=device, dtype=dtype))
        self.eps, self.zero_centred = eps, zero_centered_gamma

    def forward(self, x):
        scale = self.weight.float() + (1 if self.zero_centred else 0)
        return torch.nn.functional.rms_norm(x.float(), x.shape[-1:], scale, self.eps).bfloat16()


def moe_permute_with_probs(inp, probs, routing_map, num_out_tokens=-1):
    expert, token = routing_map.T.nonzero(as_tuple=True)
    assert len(token) == num_out_tokens
    row_id_map = (expert, token)
    return _Gather.apply(inp, token), probs[token, expert], row_id_map


class _Gather(torch.autograd.Function):
    """Rows by index, whose gradient is summed in FP32 and rounded once."""

    @staticmethod
    def forward(ctx, inp, token):
        ctx.token, ctx.shape = token, inp.shape
        return inp[token]

    @staticmethod
    def backward(ctx, gradient):
        total = torch.zeros(ctx.shape).index_add_(0, ctx.token, gradient.float())
        return total.to(gradient.dtype), None


def moe_unpermute(inp, row_id_map, merging_probs=None, restore_shape=None, map_type="mask"):
    assert map_type == "mask"
    expert, token = row_id_map
    rows = inp.float() if merging_probs is None else inp.float() * merging_probs[token, expert].unsqueeze(1)
    return torch.zeros(restore_shape).index_add(0, token, rows).to(inp.dtype)


def fused_topk_with_score_function(  # noqa: PLR0917  (as in the original)
    logits, topk, use_pre_softmax, num_groups, group_topk, scaling_factor, score_function, expert_bias
):
    assert (num_groups, group_topk, scaling_factor, expert_bias, score_function) == (None, None, None, None, "softmax")
    scores, chosen = logits.topk(topk, dim=1)
    probabilities = logits.softmax(1).gather(1, chosen) if use_pre_softmax else scores.softmax(1)
    mask = torch.zeros_like(logits, dtype=torch.bool).scatter(1, chosen, value=True)
    return torch.zeros_like(logits).scatter(1, chosen, probabilities), mask


def chunk_gated_delta_rule(  # noqa: PLR0917  (as in the original)
    q, k, v, g, beta, scale=None, initial_state=None, output_final_state=False, use_qk_l2norm_in_kernel=False,
    cu_seqlens=None,
):  # fmt: skip
    assert (scale, initial_state, output_final_state, use_qk_l2norm_in_kernel) == (None, None, False, True)
    assert q.dim() == 4
    assert (q.dtype, g.dtype, cu_seqlens.dtype) == (torch.bfloat16, torch.float32, torch.int64)
    ends = cu_seqlens.tolist()
    parts = []
    for first, last in pairwise(ends):
        inputs = [one[0, first:last].float() for one in (q, k, v, g, beta)]
        query, key = _unit(inputs[0]) * q.shape[-1] ** -0.5, _unit(inputs[1])
        parts.append(_chunked(query, key, *inputs[2:], rounding=lambda value: value.bfloat16().float()))
    return torch.cat(parts).unsqueeze(0).bfloat16(), None


def modules() -> dict[str, types.ModuleType]:
    """The modules that the adapters import, by name."""
    contents = {
        "transformer_engine": {},
        "transformer_engine.pytorch": {"RMSNorm": RMSNorm},
        "transformer_engine.pytorch.permutation": {
            "moe_permute_with_probs": moe_permute_with_probs,
            "moe_unpermute": moe_unpermute,
        },
        "transformer_engine.pytorch.router": {"fused_topk_with_score_function": fused_topk_with_score_function},
        "fla": {},
        "fla.ops": {},
        "fla.ops.gated_delta_rule": {"chunk_gated_delta_rule": chunk_gated_delta_rule},
    }
    made = {}
    for name, members in contents.items():
        made[name] = types.ModuleType(name)
        vars(made[name]).update(members)
    return made
