from itertools import product

import pytest

from openrecipes.catalog.models import model
from openrecipes.layouts.all_relations import ALL_RELATIONS
from openrecipes.layouts.relation import Case
from openrecipes.plan.legal_layouts import Batch, GpuCount, candidates
from openrecipes.plan.placement import Placement

DEGREES = ("tp", "pp", "vpp", "cp", "ep", "etp")
BATCH = Batch(row_tokens=8192, global_batch=64)


def found(name: str, gpus: int):
    return list(candidates(model(name).shape, GpuCount(count=gpus, per_node=8), BATCH))


def degrees(placement: Placement) -> tuple[int, ...]:
    return tuple(getattr(placement, name) for name in DEGREES)


@pytest.mark.parametrize("name", ["Qwen3-30B-A3B", "Qwen3-32B", "Qwen3.5-35B-A3B"])
def test_the_legal_ones_are_exactly_those_that_no_relation_refuses(name):
    """Against every combination of divisors, checked one by one."""
    gpus, shape = 8, model(name).shape
    legal = {degrees(c.placement) for c in found(name, gpus) if not c.why_not}
    divisors = (1, 2, 4, 8)
    every = set()
    for tp, pp, cp in product(divisors, repeat=3):
        if gpus % (tp * pp * cp):
            continue
        for vpp in range(1, len(shape.layers) // pp + 1):
            for ep, etp in product(divisors, repeat=2):
                placement = Placement(
                    gpus=gpus,
                    tp=tp,
                    pp=pp,
                    vpp=vpp,
                    cp=cp,
                    ep=ep,
                    etp=etp,
                    dp=gpus // (tp * pp * cp),
                    sequence_parallel=tp > 1,
                    dispatcher="alltoall" if shape.num_experts else None,
                    row_tokens=BATCH.row_tokens,
                    max_tokens_per_gpu=BATCH.row_tokens // cp,
                    global_batch=BATCH.global_batch,
                )
                case = Case(gpu=GpuCount(count=gpus, per_node=8), workload=BATCH, layout=placement, shape=shape)
                if not any(list(relation.find(case)) for relation in ALL_RELATIONS if relation.illegal):
                    every.add(degrees(placement))
    assert legal == every
    assert len(legal) > 20


def test_what_is_excluded_names_its_relation_and_its_values():
    excluded = [c for c in found("Qwen3.5-397B-A17B", 128) if c.why_not]
    assert excluded
    known = {relation.id for relation in ALL_RELATIONS}
    for candidate in excluded:
        for reason in candidate.why_not:
            assert reason.rpartition("[")[2].rstrip("]") in known
    assert "layout.pp: pp 8 does not divide the model's 60 layers, [layout-layers]" not in excluded
    words = {reason for candidate in excluded for reason in candidate.why_not}
    assert "layout.pp: pp 8 does not divide the model's 60 layers [layout-layers]" in words


def test_no_layout_is_listed_twice():
    listed = [degrees(c.placement) for c in found("Qwen3.5-397B-A17B", 128)]
    assert len(listed) == len(set(listed)) > 1000


def test_a_batch_that_no_layout_can_share_leaves_the_pipelines():
    batch = Batch(row_tokens=8192, global_batch=1)
    listed = list(candidates(model("Qwen3-32B").shape, GpuCount(count=8, per_node=8), batch))
    assert {c.placement.dp for c in listed if not c.why_not} == {1}
    assert any("layout-global-batch" in reason for c in listed for reason in c.why_not)
