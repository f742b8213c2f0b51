"""What stays allocated from the first step on beside weights, gradients and optimizer. Bytes on one rank."""

from math import prod
from typing import Final

from openrecipes.catalog.model_parts import Layer, Shape
from openrecipes.plan.choices import Choices
from openrecipes.plan.parameters import fused_shapes
from openrecipes.plan.placement import Placement
from openrecipes.plan.sizes import Sizes, padded_vocabulary

GEMM_WORKSPACE: Final = 32 * 1024**2  # one cuBLAS workspace on Hopper and later
GROUPED_GEMM_STREAMS: Final = 4


def resident(
    shape: Shape, placement: Placement, choices: Choices, sizes: Sizes, *, stage: int, layers: tuple[Layer, ...]
) -> dict[str, int]:
    """The resident parts of a stage that holds these layers, but for the rows of the step."""
    is_last = stage == placement.pp - 1
    routed = [layer for layer in layers if layer.mlp == "moe"]
    mixers = frozenset(layer.mixer for layer in layers)
    parts = {
        "placeholders": _placeholders(shape, placement, choices, mixers, is_last=is_last),
        "gemm_workspaces": _workspaces(mixers, is_last=is_last, has_experts=bool(routed)),
        "dispatcher_state": len(routed) * _dispatcher_state(sizes, choices),
        "rotary": _rotary(shape, placement, choices, layers),
    }
    if is_last and sizes.is_split_sequence:
        parts["gather_buffer"] = 2 * sizes.tokens * sizes.hidden
    if placement.pp > 1:
        parts["pipeline_buffers"] = _pipeline_buffers(placement, stage) * sizes.input_bytes
    return parts


def rows(placement: Placement) -> int:
    """The rows of a step that one rank trains on: token ids and loss mask."""
    return 12 * placement.row_tokens * placement.microbatches * placement.rows_per_microbatch


def _rotary(shape: Shape, placement: Placement, choices: Choices, layers: tuple[Layer, ...]) -> int:
    """Every model chunk keeps its own frequencies; with latent attention every layer does."""
    latent, row = shape.latent_attention, 4 * placement.row_tokens
    if latent is not None:
        return row * latent.qk_rope_head_dim * len(layers)
    rotates = any(layer.mixer == "full_attention" for layer in layers)
    return row * int(shape.head_dim * choices.rotary_percent) * placement.vpp if rotates else 0


def _pipeline_buffers(placement: Placement, stage: int) -> int:
    """Received hidden states and gradients that wait: interleaved, one ahead in both directions."""
    if placement.vpp > 1:
        return 4
    if stage > 0:
        return 2
    # Recomputed, the gradient received is the one that comes in, which is counted with the layer.
    return 0 if placement.recompute.granularity == "full" else 1


def _placeholders(
    shape: Shape, placement: Placement, choices: Choices, mixers: frozenset[str], *, is_last: bool
) -> int:
    if not choices.fused_weight_gradients:
        return 0
    shapes = set(fused_shapes(shape, placement, choices, mixers))
    if is_last:
        vocabulary = padded_vocabulary(shape.vocab_size, placement.tp, choices.vocab_multiple)
        shapes.add((vocabulary // placement.tp, shape.hidden_size))
    return 2 * sum(map(prod, shapes))


def _workspaces(mixers: frozenset[str], *, is_last: bool, has_experts: bool) -> int:
    """PyTorch's own GEMMs run where there is an output layer, a router or a delta net, in two threads."""
    by_torch = 2 if is_last or has_experts or "linear_attention" in mixers else 0
    return GEMM_WORKSPACE * (1 + by_torch + (GROUPED_GEMM_STREAMS if has_experts else 0))


def _dispatcher_state(sizes: Sizes, choices: Choices) -> int:
    routing = 5 * sizes.experts
    order = 4 * (2 * sizes.experts + 1) if choices.permute_fusion else 8 * sizes.top_k
    return sizes.local_tokens * (routing + order)
