"""Floating-point operations of one training token, exact for the model's architecture. Derived in docs/mfu.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openrecipes.catalog.model_parts import LatentAttention, Layer, LinearAttention, Shape
from openrecipes.catalog.models import Model

FORMULA_ID: Final = "architecture/1"
_TRAINING: Final = 3
"""Forward, and a backward pass of twice as much."""
_MULTIPLY_ADD: Final = 2
# Of the recurrent form, a token and head: decay the state (1), read it with the key (2), write the correction
# (2), read it with the query (2).
_DELTA_RULE: Final = 7


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenFlops:
    """FLOPs of one token in training (forward and backward), by what they are for. Recomputation is left out."""

    weights: float
    attention: float
    linear_attention: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.weights + self.attention + self.linear_attention


def token_flops(model: Model, segments: Sequence[int]) -> TokenFlops:
    """FLOPs of a token, the mean over the tokens of rows that hold attention segments of these lengths.

    A segment is what attends to itself: a row is one, unless attention is cut between its documents.
    Every matrix product with a weight that the token uses (router, its experts, the shared expert, convolution and
    LM head included), the causal attention scores, and the state of gated delta nets in its recurrent form; norms,
    activations and other elementwise work are left out.
    Raises: ValueError if there is no segment, or one of them is not positive.
    """
    if not segments or min(segments) <= 0:
        raise ValueError(f"segments of {list(segments)} tokens: each must be positive")
    shape = model.shape
    pairs = sum(length * (length + 1) // 2 for length in segments) / sum(segments)
    return TokenFlops(
        weights=_TRAINING * _MULTIPLY_ADD * model.active_params,
        attention=_TRAINING * pairs * sum(_scores(shape, layer) for layer in shape.layers),
        linear_attention=_TRAINING * sum(_state(shape.linear_attention, layer) for layer in shape.layers),
    )


def _scores(shape: Shape, layer: Layer) -> int:
    """FLOPs of a query with one key and its value, over all heads; 0 for other mixers."""
    if layer.mixer == "full_attention":
        return shape.num_attention_heads * _MULTIPLY_ADD * (shape.head_dim + shape.head_dim)
    if layer.mixer == "latent_attention" and shape.latent_attention is not None:
        return shape.num_attention_heads * _MULTIPLY_ADD * _latent_width(shape.latent_attention)
    return 0


def _latent_width(sizes: LatentAttention) -> int:
    return sizes.qk_nope_head_dim + sizes.qk_rope_head_dim + sizes.v_head_dim


def _state(sizes: LinearAttention | None, layer: Layer) -> int:
    """FLOPs of a token with the states of all heads of a gated delta net; 0 for other mixers."""
    if layer.mixer != "linear_attention" or sizes is None:
        return 0
    return _DELTA_RULE * sizes.num_value_heads * sizes.key_head_dim * sizes.value_head_dim


def utilisation(tokens_per_s_per_gpu: float, flops_per_token: float, peak_flops_per_s: float) -> float:
    """Share of the GPU's dense BF16 peak at this rate and these FLOPs a token, a fraction.

    Raises: ValueError if an argument is not positive.
    """
    if min(tokens_per_s_per_gpu, flops_per_token, peak_flops_per_s) <= 0:
        raise ValueError(f"{tokens_per_s_per_gpu}, {flops_per_token}, {peak_flops_per_s}: all must be positive")
    return tokens_per_s_per_gpu * flops_per_token / peak_flops_per_s
