"""layout.label, .summary and .highlights: what they list, and what the fields would have them say."""

import re
from collections.abc import Iterator
from typing import Final

from openrecipes.layouts.degrees import Degrees
from openrecipes.recipe.layout import Recompute
from openrecipes.recipe.model import Recipe
from openrecipes.render.settings import settings

PERMUTE_FUSION: Final = "MoE permute fusion"
_SEPARATOR: Final = "; "
_NUMBER_WORDS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

# Clauses that a field decides, as published summaries word them.
_OF_FIELDS: Final = (
    r"^TP \d|^stages of|per microbatch$|recompute\b|distributed optimizer$|dispatcher( \(DeepEP\))?$|offload$"
)


def lists(summary: str, words: str) -> bool:
    """Whether one of the summary's clauses is exactly these words."""
    return words in summary.split(_SEPARATOR)


def label(recipe: Recipe) -> str:
    """The degrees in one line: `TP2 PP4 EP32 DP16`."""
    layout = recipe.layout
    degrees = Degrees(
        tp=layout.tp, pp=layout.pp, vpp=layout.vpp, cp=layout.cp, ep=layout.ep, etp=layout.etp, dp=layout.dp
    )
    return degrees.label


def highlights(recipe: Recipe) -> str:
    """What the board says of a layout: `max 8,192 tokens/GPU, no offload`."""
    return f"max {recipe.layout.max_tokens_per_gpu:,} tokens/GPU, {_offload(recipe)}"


def summary(recipe: Recipe, before: str = "") -> str:
    """The layout in one sentence, from the fields; of the text `before`, what no field says is kept.

    Permute fusion is in no field: it is kept too, unless `arguments` says otherwise.
    """
    own = [clause for clause in before.split(_SEPARATOR) if clause and not re.search(_OF_FIELDS, clause)]
    fused = next((s for s in settings(recipe.arguments) if s.flag == "--moe-permute-fusion"), None)
    if fused is not None:
        own = [clause for clause in own if clause != PERMUTE_FUSION]
        own = own if fused.is_left_out else [PERMUTE_FUSION, *own]
    clauses = (*_how(recipe), *own, *_where(recipe))
    return _SEPARATOR.join(clauses)


def _how(recipe: Recipe) -> Iterator[str]:
    """Degrees, microbatch, recomputation, optimizer."""
    layout = recipe.layout
    degrees = [f"TP {layout.tp}", f"PP {layout.pp}", f"VPP {layout.vpp}", f"CP {layout.cp}", f"EP {layout.ep}"]
    degrees += [f"ETP {layout.etp}", f"DP {layout.dp}", *(["sequence parallel"] if layout.sequence_parallel else [])]
    yield ", ".join(degree for degree in degrees if degree != "VPP 1")
    if layout.layer_split is not None:
        yield f"stages of {', '.join(str(count) for count in layout.layer_split)} layers"
    rows = layout.rows_per_microbatch
    count = _NUMBER_WORDS[rows] if rows < len(_NUMBER_WORDS) else str(rows)
    yield f"{count} {recipe.workload.row_tokens:,}-token row{'' if rows == 1 else 's'} per microbatch"
    yield _recompute(layout.recompute)
    if recipe.trainer == "slime":
        precise = next((s for s in settings(recipe.arguments) if s.flag == "--use-precision-aware-optimizer"), None)
        yield "distributed optimizer" if precise and precise.is_left_out else "precision-aware distributed optimizer"


def _where(recipe: Recipe) -> Iterator[str]:
    """Dispatch and offload."""
    if recipe.layout.dispatcher is not None:
        yield (
            "flex dispatcher (DeepEP)"
            if recipe.layout.dispatcher == "flex"
            else f"{recipe.layout.dispatcher} dispatcher"
        )
    yield _offload(recipe)


def _recompute(recompute: Recompute | None) -> str:
    if recompute is None:
        return "no recompute"
    if recompute.granularity == "selective":
        return f"selective recompute ({', '.join(recompute.modules or ('core_attn',))})"
    layers = recompute.num_layers
    return f"full recompute ({recompute.method}, {layers} layer{'' if layers == 1 else 's'})"


def _offload(recipe: Recipe) -> str:
    words = {None: "no offload", "optimizer": "optimizer offload", "activations": "activation offload"}
    return words[recipe.layout.offload]
