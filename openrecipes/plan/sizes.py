"""Widths and token counts as one rank sees them: the letters of the formulas."""

from dataclasses import dataclass

from openrecipes.catalog.model_parts import Shape
from openrecipes.plan.choices import Choices
from openrecipes.plan.placement import Placement


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """Sizes on one rank; `letter` in a formula is named beside each.

    Tokens are of one microbatch; widths are elements a token.
    """

    tokens: int  # T: after context parallelism
    local_tokens: int  # S: T / tp with sequence parallelism, else T
    whole_tokens: int  # G: T x cp, what a layer that is not split sees
    hidden: int  # h
    query: int  # q: query heads of the rank x head_dim
    key: int  # k: key-value heads of the rank x head_dim
    value: int  # v: value heads of the rank x their head_dim
    heads: int  # a: query heads of the rank
    groups: int  # key-value heads of the rank
    projection: int  # p: the QKV projection's output that one rank holds
    vocabulary: int  # V: padded vocabulary / tp
    ffn: int  # f: dense FFN / tp
    experts: int  # E: routed experts of the layer, over all ranks
    top_k: int
    expert_tokens: int  # X: token copies that a rank's experts work on
    expert_ffn: int  # e: expert FFN / etp
    shared_ffn: int  # z: shared expert's FFN / tp
    is_split_sequence: bool
    is_exchanged: bool  # ep above 1: tokens come from other ranks
    is_sorted: bool  # several experts a rank: tokens are sorted by expert

    @property
    def input_bytes(self) -> int:
        """Hidden states between two layers: 2 x S x h."""
        return 2 * self.local_tokens * self.hidden


def sizes(shape: Shape, placement: Placement, choices: Choices, imbalance: float) -> Sizes:
    """The sizes of a model under a placement; `imbalance` is the most loaded rank's share over the mean."""
    tp, tokens = placement.tp, placement.tokens
    local = tokens // tp if placement.sequence_parallel else tokens
    heads, groups = shape.num_attention_heads // tp, max(1, shape.num_query_groups // tp)
    latent = shape.latent_attention
    query = heads * shape.head_dim
    key = heads * shape.head_dim if latent else groups * shape.head_dim
    top_k, experts = shape.experts_per_token or 0, shape.num_experts or 0
    # With every expert on the rank there is nothing to be uneven.
    share = imbalance if placement.ep > 1 else 1.0
    return Sizes(
        tokens=tokens,
        local_tokens=local,
        whole_tokens=tokens * placement.cp,
        hidden=shape.hidden_size,
        query=query,
        key=key,
        value=heads * latent.v_head_dim if latent else key,
        heads=heads,
        groups=groups,
        projection=_projection(shape, placement, choices),
        vocabulary=padded_vocabulary(shape.vocab_size, tp, choices.vocab_multiple) // tp,
        ffn=(shape.ffn_hidden_size or 0) // tp,
        experts=experts,
        top_k=top_k,
        expert_tokens=round(local * top_k * placement.etp * share),
        expert_ffn=(shape.moe_ffn_hidden_size or 0) // placement.etp,
        shared_ffn=(shape.shared_expert_ffn_hidden_size or 0) // tp,
        is_split_sequence=placement.sequence_parallel and tp > 1,
        is_exchanged=placement.ep > 1,
        is_sorted=experts > placement.ep,
    )


def padded_vocabulary(size: int, tp: int, multiple: int) -> int:
    """The vocabulary rounded up to multiple x tp. Source: Megatron-LM 1dcf0daf, _vocab_size_with_padding."""
    step = multiple * tp
    return -(-size // step) * step


def _projection(shape: Shape, placement: Placement, choices: Choices) -> int:
    """Width of the QKV output that a rank holds: all of it where tp exceeds the query groups (it is gathered)."""
    query = shape.num_attention_heads * shape.head_dim * (2 if choices.output_gate else 1)
    whole = query + 2 * shape.num_query_groups * shape.head_dim
    return whole if placement.tp > shape.num_query_groups else whole // placement.tp
