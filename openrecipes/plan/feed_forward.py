"""What dense MLPs and expert layers keep for the backward pass, and take while they run. Bytes on one rank."""

from openrecipes.plan.choices import Choices
from openrecipes.plan.sizes import Sizes

Parts = dict[str, int]


def dense_saved(sizes: Sizes, modules: frozenset[str]) -> Parts:
    """A dense MLP with its norm; recomputed, it keeps nothing but the hidden states before it."""
    if "mlp" in modules:
        return {}
    return {"mlp_norm": 2 * sizes.local_tokens * sizes.hidden, "ffn": 6 * sizes.tokens * sizes.ffn}


def dense_backward(sizes: Sizes) -> int:
    """The larger of two moments of an MLP's backward pass, beyond what it still keeps."""
    tokens, ffn = sizes.tokens, sizes.ffn
    # At the product: its gradient and that of gate and up; the saved product is freed.
    product = 2 * tokens * (ffn + 2 * ffn - ffn)
    # At the first GEMM: gate and up are freed, their gradient is not; its input is gathered if it was split.
    gathered = sizes.hidden if sizes.is_split_sequence else 0
    first = 2 * tokens * (2 * ffn + sizes.hidden + gathered - 3 * ffn)
    return max(product, first)


def expert_saved(sizes: Sizes, choices: Choices, modules: frozenset[str]) -> Parts:
    """An expert layer with its norm, router, routed experts and shared expert."""
    parts = {} if "layernorm" in modules else {"mlp_norm": 2 * sizes.local_tokens * sizes.hidden}
    if "moe" in modules:
        return parts
    local, experts = sizes.local_tokens, sizes.expert_tokens
    maps = 12 * local * sizes.top_k + 12 * experts
    parts["router"] = maps if choices.permute_fusion else maps + 5 * local * sizes.experts
    parts["dispatched"] = 2 * experts * sizes.hidden
    parts["expert_ffn"] = 4 * experts * sizes.expert_ffn
    if "moe_act" not in modules:
        parts["expert_product"] = 2 * experts * sizes.expert_ffn
    if sizes.shared_ffn and "shared_experts" not in modules:
        gated = 2 * local * sizes.hidden if choices.shared_expert_gate else 0
        parts["shared_expert"] = 6 * sizes.tokens * sizes.shared_ffn + gated
    return parts


def expert_forward(sizes: Sizes) -> Parts:
    """What an expert layer holds at the end of its forward pass beyond what it keeps.

    The backward pass holds less: the tokens in expert order and those received are freed by then.
    """
    local, experts, hidden = sizes.local_tokens, sizes.expert_tokens, sizes.hidden
    # One expert a rank: nothing is sorted, and what was received is what is kept.
    outputs = 2 if sizes.is_sorted else 1
    parts = {"permuted": 2 * local * sizes.top_k * hidden, "expert_outputs": outputs * 2 * experts * hidden}
    if sizes.is_exchanged and sizes.is_sorted:
        parts["received"] = 2 * experts * hidden
    if sizes.shared_ffn:
        parts["shared_output"] = 2 * local * hidden
    return parts
