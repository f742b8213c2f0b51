"""What a gated delta net keeps for the backward pass, and what its backward pass takes. Bytes on one rank.

slime computes it whole on every tensor- and context-parallel rank, so no width is divided by tp and all tokens of the
microbatch count.
"""

from typing import Final

from openrecipes.catalog.model_parts import LinearAttention
from openrecipes.plan.sizes import Sizes

_CHUNK: Final = 64  # tokens of a chunk in flash-linear-attention's kernels


def delta_saved(sizes: Sizes, mixer: LinearAttention) -> dict[str, int]:
    """A gated-delta-net mixer; it keeps its input only as FP32 copies in its norm."""
    tokens, heads = sizes.whole_tokens, mixer.num_value_heads
    keys, values = mixer.num_key_heads * mixer.key_head_dim, heads * mixer.value_head_dim
    return {
        "delta_norm": 10 * tokens * sizes.hidden,
        "delta_inputs": 2 * tokens * (2 * keys + values + values),
        "delta_states": 2 * tokens * (2 * heads * mixer.key_head_dim + values + _CHUNK * heads),
        "delta_outputs": 4 * tokens * values,
        "delta_scalars": 26 * tokens * heads + 4 * tokens,
    }


def delta_backward(sizes: Sizes, mixer: LinearAttention) -> int:
    """Gradients and states of the chunked backward pass, beyond what is still kept: outputs and gate are not."""
    tokens, heads = sizes.whole_tokens, mixer.num_value_heads
    values, queries = heads * mixer.value_head_dim, heads * mixer.key_head_dim
    states = 2 * 2 * (tokens // _CHUNK) * heads * mixer.key_head_dim * mixer.value_head_dim
    freed = 4 * tokens * values + 2 * tokens * values
    # w, dq, dk, dw and dk of the second kernel; the gated norm's two gradients, u, v, dv and dv again.
    return 2 * tokens * (5 * queries + 6 * values) + states - freed
