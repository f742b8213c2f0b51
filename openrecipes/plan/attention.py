"""What full and latent attention keep for the backward pass, and what their backward pass takes. Bytes on one rank."""

from openrecipes.catalog.model_parts import LatentAttention
from openrecipes.plan.choices import Choices
from openrecipes.plan.sizes import Sizes

Parts = dict[str, int]


def attention_saved(sizes: Sizes, choices: Choices, modules: frozenset[str]) -> Parts:
    """Grouped-query attention, without its input; `modules` are those recomputed selectively."""
    tokens, core = sizes.tokens, "core_attn" in modules
    whole_projection = 2 * tokens * sizes.projection
    norms = 4 * tokens * (sizes.heads + sizes.groups) if choices.qk_norm else 0
    parts = {
        "attention_norm": 2 * sizes.local_tokens * sizes.hidden,
        "rotated": 2 * tokens * (sizes.query + sizes.key),
        "attention_output": 2 * tokens * sizes.query * (2 if choices.output_gate else 1),
        "attention_statistics": norms + (0 if core else 4 * tokens * sizes.heads),
    }
    if choices.qk_norm:
        parts |= {"query": 2 * tokens * sizes.query, "key": 2 * tokens * sizes.key}
    # A gate of several groups is copied out of the projection; of one group it is a view that keeps it alive.
    kept = choices.output_gate and sizes.groups == 1
    if choices.output_gate:
        parts["gate"] = whole_projection if kept else 2 * tokens * sizes.query
    # Recomputed attention keeps its inputs, and the value is a view of the projection.
    parts["value"] = (0 if kept else whole_projection) if core else 2 * tokens * sizes.value
    return parts


def latent_saved(sizes: Sizes, latent: LatentAttention, modules: frozenset[str]) -> Parts:
    """Multi-head latent attention, without its input."""
    tokens, local = sizes.tokens, sizes.local_tokens
    ranks = (latent.q_lora_rank or 0) + latent.kv_lora_rank
    up = 0 if "mla_up_proj" in modules else 1
    return {
        "attention_norm": 0 if "layernorm" in modules else 2 * local * sizes.hidden,
        "latent": 4 * local * ranks + 8 * tokens * latent.qk_rope_head_dim,
        "rotated": up * 2 * tokens * (sizes.query + sizes.key),
        "value": up * 2 * tokens * sizes.value,
        "attention_output": 2 * tokens * sizes.value,
        "attention_statistics": 0 if "core_attn" in modules else 4 * tokens * sizes.heads,
    }


def attention_backward(sizes: Sizes, choices: Choices) -> int:
    """Gradients of output, queries, keys and values, and the kernel's workspace, all at once.

    Both kernels accumulate the gradient of the queries in FP32; with grouped heads those of keys and values stand
    there once a query head too, in FP32 (cuDNN) or BF16 (flash-attn).
    """
    tokens, query = sizes.tokens, sizes.query
    is_grouped = sizes.groups < sizes.heads
    output = query if sizes.value == sizes.key else sizes.value
    gate = query if choices.output_gate else 0
    gradients = 2 * tokens * (output + query + sizes.key + sizes.value + gate)
    expanded = (4 if choices.attention_backend == "flash" else 8) if is_grouped else 0
    return gradients + (4 + expanded) * tokens * query + 4 * tokens * sizes.heads
