"""Each relation is broken by one change of a published layout, and by that change no other is."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.catalog.model_parts import Layer
from openrecipes.catalog.models import model
from openrecipes.layouts.all_relations import ALL_RELATIONS
from openrecipes.layouts.degrees import Degrees
from openrecipes.layouts.relation import Case

PUBLISHED: list[dict[str, Any]] = [
    {},
    {"tp": 1, "dp": 32, "sequence_parallel": False},
    {"pp": 2, "ep": 64, "dp": 32},
]
TP10 = {"tp": 10, "count": 160, "per_node": 10, "dp": 4, "ep": 8}
ALL_FULL = {"layers": tuple(Layer(mixer="full_attention", mlp="moe") for _ in range(60))}
WIDE = {"shared_expert_ffn_hidden_size": 1000}


def case_of(model_name: str = "Qwen3.5-397B-A17B", shape: dict[str, Any] | None = None, **changes: Any) -> Case:
    """128 H200s at TP2 PP4 EP32 DP16, with fields changed by name."""
    gpu = {"count": 128, "per_node": 8}
    workload = {"row_tokens": 8192, "global_batch": 128}
    layout = {
        "tp": 2, "pp": 4, "vpp": 1, "cp": 1, "ep": 32, "etp": 1, "dp": 16, "sequence_parallel": True,
        "layer_split": None, "max_tokens_per_gpu": 8192, "rows_per_microbatch": 1, "dispatcher": "alltoall",
    }  # fmt: skip
    for name, value in changes.items():
        next(block for block in (gpu, workload, layout) if name in block)[name] = value
    return Case(
        gpu=SimpleNamespace(**gpu),
        workload=SimpleNamespace(**workload),
        layout=SimpleNamespace(**layout),
        shape=replace(model(model_name).shape, **(shape or {})),
    )


def broken(case: Case) -> set[str]:
    return {relation.id for relation in ALL_RELATIONS for _ in relation.find(case)}


MUTATIONS: dict[str, dict[str, Any]] = {
    "layout-gpus": {"cp": 3, "row_tokens": 8190, "max_tokens_per_gpu": 2730, "shape": ALL_FULL},
    "layout-dp": {"dp": 8},
    "layout-expert-gpus": {"ep": 64},
    "layout-experts": {"ep": 3, "count": 96, "dp": 12, "global_batch": 96},
    "layout-dense": {"model_name": "Qwen3-32B", "tp": 1, "dp": 32, "sequence_parallel": False},
    "layout-dispatcher": {"dispatcher": None},
    "layout-flex": {"dispatcher": "flex", "ep": 1},
    "layout-widths": {"etp": 3, "count": 96, "dp": 12, "ep": 4, "global_batch": 96},
    "layout-heads": {**TP10, "shape": WIDE},
    "layout-query-groups": {**TP10, "shape": {**WIDE, "num_attention_heads": 40, "num_query_groups": 4}},
    "layout-sequence-parallel": {"sequence_parallel": False},
    "layout-sequence-parallel-void": {"tp": 1, "dp": 32},
    "layout-vocabulary": {"tp": 8, "dp": 4},
    "layout-layers": {"pp": 8, "dp": 8, "ep": 16},
    "layout-vpp": {"pp": 1, "dp": 64, "vpp": 2},
    "layout-split-stages": {"layer_split": (20, 20, 20)},
    "layout-split-layers": {"layer_split": (15, 15, 15, 16)},
    "layout-split-middle": {"layer_split": (15, 14, 16, 15)},
    "layout-split-vpp": {"vpp": 2, "layer_split": (15, 15, 15, 15)},
    "layout-global-batch": {"global_batch": 120},
    "layout-vpp-microbatches": {"vpp": 3, "global_batch": 96},
    "layout-max-tokens": {"max_tokens_per_gpu": 8191},
    "layout-cp-rows": {"cp": 2, "dp": 8, "row_tokens": 8190, "max_tokens_per_gpu": 4095, "shape": ALL_FULL},
    "layout-cp-linear": {"cp": 2, "dp": 8, "max_tokens_per_gpu": 4096},
    "layout-nodes": {"per_node": 24},
    "layout-tp-node": {"per_node": 1},
}


@pytest.mark.parametrize("changes", PUBLISHED)
def test_the_published_layouts_break_no_relation(changes: dict[str, Any]) -> None:
    assert broken(case_of(**changes)) == set()


@pytest.mark.parametrize("name", MUTATIONS)
def test_one_change_breaks_one_relation(name: str) -> None:
    assert broken(case_of(**MUTATIONS[name])) == {name}


def test_every_relation_has_a_change_that_breaks_it() -> None:
    assert {relation.id for relation in ALL_RELATIONS} == set(MUTATIONS)


def test_what_is_broken_names_the_key_and_the_values() -> None:
    found = [item for relation in ALL_RELATIONS for item in relation.find(case_of(dp=12))]
    dp = next(item for item in found if item.key == "layout.dp")
    assert dp.what == "12, but 128 GPUs / (tp 2 x pp 4 x cp 1) = 16"
    assert dp.mend == "set layout.dp to 16, or change gpu.count, tp, pp or cp"


powers = st.sampled_from([1, 2, 4])


@given(tp=powers, pp=st.sampled_from([1, 2, 4, 5]), cp=powers, ep=powers, dp=st.sampled_from([4, 8, 16]))
def test_a_layout_built_from_its_degrees_splits_its_gpus(tp: int, pp: int, cp: int, ep: int, dp: int) -> None:
    degrees = Degrees(tp=tp, pp=pp, cp=cp, ep=ep, dp=dp)
    case = case_of(
        count=degrees.gpus, tp=tp, pp=pp, cp=cp, ep=ep, dp=dp, sequence_parallel=tp > 1, max_tokens_per_gpu=8192 // cp
    )
    assert broken(case) <= ({"layout-nodes", "layout-cp-linear"} if cp > 1 else {"layout-nodes"})
    assert degrees.edp * ep * pp == degrees.gpus
