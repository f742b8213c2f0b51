"""Spoilt permutes and unpermutes."""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from openrecipes.correctness.component.mistake import Mistake
from openrecipes.correctness.component.moe_permute import Moved, Routed


def mistakes() -> Iterator[Mistake[Routed, Moved]]:
    """Spoilt permutes."""
    yield Mistake(name="lost assignment", spoilt="one token not sent to one of its experts", result=_lost)
    yield Mistake(name="swapped rows", spoilt="two rows of one expert exchanged", result=_swapped)
    yield Mistake(
        name="wrong expert",
        spoilt="every token's experts shifted by one",
        case=lambda sound: replace(
            sound, mask=sound.mask.roll(1, dims=1), probabilities=sound.probabilities.roll(1, dims=1)
        ),
    )
    yield Mistake(
        name="wrong probability",
        spoilt="probabilities shifted by one expert",
        case=lambda sound: replace(sound, probabilities=_rolled(sound)),
    )
    yield Mistake(
        name="probabilities in BF16",
        spoilt="probabilities rounded to BF16",
        case=lambda sound: replace(sound, probabilities=sound.probabilities.bfloat16().float()),
    )
    yield Mistake(name="sums in BF16", spoilt="a token's rows added up in BF16", result=_summed_in_bf16)
    yield Mistake(name="one gradient", spoilt="only one row's gradient given back to a token", result=_first_gradient)
    yield Mistake(
        name="gradient unweighted",
        spoilt="merged rows' gradient without the probability",
        result=lambda _case, found: replace(found, merged_rows_gradient=found.rows_gradient),
    )
    yield Mistake(
        name="dot products in BF16",
        spoilt="the merging probabilities' gradient rounded to BF16",
        result=lambda _case, found: replace(found, merging_gradient=found.merging_gradient.bfloat16().float()),
    )


def _lost(_case: Routed, found: Moved) -> Moved:
    """The first row as zeros, wherever it was copied."""
    permuted = found.permuted.clone()
    permuted[0] = 0
    return replace(found, permuted=permuted)


def _swapped(_case: Routed, found: Moved) -> Moved:
    order = torch.arange(len(found.permuted), device=found.permuted.device)
    order[:2] = order[:2].flip(0)
    return replace(found, permuted=found.permuted[order])


def _rolled(case: Routed) -> Tensor:
    """Each token's probabilities moved round among its own experts."""
    token, expert = case.mask.nonzero(as_tuple=True)
    chosen = case.probabilities[token, expert].view(len(case.tokens), -1).roll(1, dims=1)
    return torch.zeros_like(case.probabilities).index_put_((token, expert), chosen.flatten())


def _summed_in_bf16(case: Routed, found: Moved) -> Moved:
    """Top-k additions, each rounded."""
    token, _ = case.mask.nonzero(as_tuple=True)
    _, sorted_token = case.mask.T.nonzero(as_tuple=True)
    order = torch.argsort(sorted_token, stable=True)
    rows = case.expert_rows[order].view(len(case.tokens), -1, case.tokens.shape[1])
    total = torch.zeros_like(case.tokens)
    for position in range(len(token) // len(case.tokens)):
        total = total + rows[:, position]
    return replace(found, summed=total)


def _first_gradient(case: Routed, found: Moved) -> Moved:
    _, token = case.mask.T.nonzero(as_tuple=True)
    gradient = torch.zeros_like(case.tokens)
    gradient[token.flip(0)] = case.permuted_gradient.flip(0)
    return replace(found, tokens_gradient=gradient)
