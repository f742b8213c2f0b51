"""Recipes for tests: the shipped ones, and legal variations of the published ones."""

import copy
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import read_recipe
from openrecipes.recipe.write import plain

RECIPES = Path(__file__).resolve().parent.parent / "recipes"
PUBLISHED = tuple(sorted((RECIPES / "qwen3.5-397b-a17b" / "h200").glob("attune-*.yaml")))
SMOKE = RECIPES / "qwen3.5-moe-mini" / "cpu" / "smoke-dp2.yaml"
assert len(PUBLISHED) == 3


@cache
def published(layout: str = "tp2-pp4-ep32") -> Recipe:
    """One of the three published recipes."""
    return read_recipe(next(path for path in PUBLISHED if layout in path.stem)).recipe


@cache
def smoke() -> Recipe:
    """The smoke recipe."""
    return read_recipe(SMOKE).recipe


def changed(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """The recipe with these dotted keys set, and nothing else done."""
    data = copy.deepcopy(plain(recipe))
    for key, value in changes.items():
        here = data
        *blocks, last = key.split(".")
        for block in blocks:
            here = here.setdefault(block, {})
        here[last] = value
    return Recipe.model_validate(data)


@st.composite
def layouts(draw: st.DrawFn) -> dict[str, Any]:
    """Changes that make a published recipe (60 layers, 512 experts) another legal one."""
    tp, cp = draw(st.sampled_from((1, 2, 4))), draw(st.sampled_from((1, 2, 4)))
    pp, vpp = draw(st.sampled_from(((1, 1), (2, 1), (2, 3), (3, 1), (4, 1), (4, 3), (4, 5), (6, 2))))
    dp = 8 * draw(st.integers(1, 4))
    rows = draw(st.integers(1, 4))
    expert_ranks = tp * cp * dp
    ep = draw(st.sampled_from([ep for ep in (1, 2, 4, 8, 16, 32, 64) if expert_ranks % ep == 0]))
    recompute = draw(
        st.sampled_from(
            (
                None,
                {"granularity": "full", "method": "uniform", "num_layers": 1},
                {"granularity": "full", "method": "block", "num_layers": 2},
                {"granularity": "selective", "method": None, "num_layers": None},
                {"granularity": "selective", "method": None, "num_layers": None, "modules": ("moe_act", "layernorm")},
            )
        )
    )
    return {
        "gpu.count": tp * pp * cp * dp,
        "layout.tp": tp,
        "layout.pp": pp,
        "layout.vpp": vpp,
        "layout.cp": cp,
        "layout.ep": ep,
        "layout.dp": dp,
        "layout.sequence_parallel": tp > 1,
        "layout.layer_split": draw(st.sampled_from((None, (13, 16, 16, 15)))) if (pp, vpp) == (4, 1) else None,
        "layout.rows_per_microbatch": rows,
        "layout.max_tokens_per_gpu": rows * 8192 // cp,
        "layout.recompute": recompute,
        "layout.offload": draw(st.sampled_from((None, "optimizer"))),
        "layout.dispatcher": draw(st.sampled_from(("alltoall", "flex"))),
        "workload.precision": draw(st.sampled_from(("bf16", "fp16", "fp8"))),
        "workload.global_batch": dp * rows * pp * draw(st.integers(1, 3)),
        "result.steps_per_run": draw(st.integers(4, 40)),
    }
