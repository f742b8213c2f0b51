"""Megatron-LM's own theoretical memory estimate, as a cross-check of dense models.

It counts weights, gradients, optimizer states and the activations of a Transformer layer with sequence parallelism
and selective recomputation; it knows no recomputed layers, no FP32 logits beside one copy, no buffers.
Source: Megatron-LM 1dcf0daf, megatron/training/theoretical_memory_usage.py; activations: Korthikanti et al. 2022
(arXiv 2205.05198), table 2.
"""

from typing import Final

from openrecipes.catalog.model_parts import Shape
from openrecipes.plan.choices import Choices
from openrecipes.plan.placement import Placement
from openrecipes.plan.sizes import padded_vocabulary

_GIB: Final = 1024**3


def megatron_estimate_gib(shape: Shape, placement: Placement, choices: Choices) -> float | None:
    """GiB on the first stage by Megatron-LM's formulas; None for a model with experts or another mixer."""
    if any(layer.mixer != "full_attention" or layer.mlp != "dense" for layer in shape.layers):
        return None
    return (_states(shape, placement, choices) + _activations(shape, placement, choices)) / _GIB


def estimated_parameters(shape: Shape, placement: Placement, choices: Choices) -> float:
    """Parameters of the most loaded rank, as the estimate counts them."""
    hidden, query = shape.hidden_size, shape.num_attention_heads * shape.head_dim
    attention = 2 * hidden * query * (1 + shape.num_query_groups / shape.num_attention_heads)
    mlp = 3 * hidden * (shape.ffn_hidden_size or 0)
    norms = 4 * hidden
    blocks = len(shape.layers) * (attention + mlp + norms) + 2 * hidden
    embedding = hidden * padded_vocabulary(shape.vocab_size, placement.tp, choices.vocab_multiple)
    embeddings = embedding * (2 if placement.pp == 1 and not shape.tied_embeddings else 1)
    return (blocks / placement.pp + embeddings) / placement.tp


def _states(shape: Shape, placement: Placement, choices: Choices) -> float:
    """BF16 weights and FP32 gradients, and the optimizer's 12 bytes over the data-parallel ranks."""
    return estimated_parameters(shape, placement, choices) * (6 + 12 / placement.dp)


def _activations(shape: Shape, placement: Placement, choices: Choices) -> float:
    hidden, tokens, pp = shape.hidden_size, placement.rows_per_microbatch * placement.row_tokens, placement.pp
    layers = len(shape.layers) * tokens * hidden * (18 + 4 * (shape.ffn_hidden_size or 0) / hidden)
    found = layers + 8 * tokens * pp + tokens * hidden * pp
    if placement.vpp > 1:
        found *= 1 + (pp - 1) / (pp * placement.vpp)
    elif pp > 1:
        found *= min(1.0, placement.microbatches / pp)
    if pp == 1:
        vocabulary = padded_vocabulary(shape.vocab_size, placement.tp, choices.vocab_multiple)
        found += 4 * tokens * hidden * (1 + vocabulary / hidden)
    return found / placement.tp
