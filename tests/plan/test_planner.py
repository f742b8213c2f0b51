from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.catalog.models import all_models, model
from openrecipes.plan.choices import Choices
from openrecipes.plan.parameters import model_parameters
from openrecipes.plan.placement import FULL, NO_RECOMPUTE, Placement, Recomputation
from openrecipes.plan.planner import Planner
from openrecipes.plan.search import published_choices

COUNTS = {found.name: model_parameters(found) for found in all_models() if found.name != "Qwen3.5-MoE-mini"}
RECOMPUTES = (
    NO_RECOMPUTE,
    FULL,
    Recomputation(granularity="full", num_layers=3),
    Recomputation(granularity="full", method="block", num_layers=2),
    Recomputation(granularity="selective", modules=frozenset({"core_attn", "moe_act"})),
    Recomputation(granularity="selective", modules=frozenset({"moe", "mlp", "layernorm", "shared_experts"})),
)


@st.composite
def placements(draw: st.DrawFn) -> tuple[str, Placement]:
    """A model, and a placement whose stages and experts come out even."""
    name = draw(st.sampled_from(sorted(COUNTS)))
    shape = COUNTS[name].shape
    tp, cp, dp = (draw(st.sampled_from((1, 2, 4))) for _ in range(3))
    layers = len(shape.layers)
    pp = draw(st.sampled_from([n for n in (1, 2, 4) if layers % n == 0]))
    vpp = draw(st.sampled_from([n for n in (1, 2, 3) if (layers // pp) % n == 0])) if pp > 1 else 1
    gpus = tp * pp * cp * dp
    experts = shape.num_experts
    ep = draw(st.sampled_from([n for n in (1, 2, 4, 8) if gpus // pp % n == 0])) if experts else 1
    rows = draw(st.sampled_from((1, 2)))
    return name, Placement(
        gpus=gpus,
        tp=tp,
        pp=pp,
        vpp=vpp,
        cp=cp,
        ep=ep,
        dp=dp,
        sequence_parallel=tp > 1,
        dispatcher="alltoall" if experts else None,
        row_tokens=4096,
        rows_per_microbatch=rows,
        max_tokens_per_gpu=4096 * rows,
        global_batch=dp * rows * pp * draw(st.sampled_from((1, 3))),
        recompute=draw(st.sampled_from(RECOMPUTES)),
    )


def planner(name: str, choices: Choices | None = None) -> Planner:
    return Planner(counts=COUNTS[name], choices=choices or published_choices(model(name)), imbalance=1.25)


@given(placements())
def test_terms_sum_to_the_peak_and_the_peak_to_its_four_parts(drawn):
    name, placement = drawn
    plan = planner(name)
    for stage in plan.stages(placement):
        terms = plan.terms(placement, stage)
        # Bytes of chunks in flight are divided by the chunks, term by term: a few bytes of rounding.
        assert sum(term.gib for term in terms) == pytest.approx(stage.peak, rel=1e-6)
        assert stage.weights + stage.gradients + stage.optimizer + stage.activations == pytest.approx(stage.peak)
        assert all(term.gib > 0 and term.formula and term.source for term in terms)


@given(placements())
def test_the_ranks_of_all_stages_hold_the_whole_model(drawn):
    name, placement = drawn
    found = model(name)
    stages = planner(name).stages(placement)
    experts = sum(stage.parameters.experts for stage in stages) * placement.ep * placement.etp
    dense = sum(stage.parameters.dense for stage in stages)
    assert sum(stage.layers for stage in stages) == len(found.shape.layers)
    if placement.tp == 1 and placement.pp == 1:
        assert experts + dense == found.params
    else:
        assert experts + dense * placement.tp >= found.params


@given(placements())
def test_recomputing_whole_layers_keeps_less_in_flight(drawn):
    name, placement = drawn
    plan = planner(name)
    for stage in range(placement.pp):
        none = plan.stage(replace(placement, recompute=NO_RECOMPUTE), stage)
        full = plan.stage(replace(placement, recompute=FULL), stage)
        assert full.weights == none.weights
        if COUNTS[name].shape.num_experts is None:
            assert full.peak <= none.peak + 0.5  # a layer alone is recomputed with gradients beside it
        else:
            assert full.peak <= none.peak * 1.05 + 0.5


@given(placements())
def test_more_expert_ranks_never_hold_more_weights(drawn):
    name, placement = drawn
    if COUNTS[name].shape.num_experts is None or placement.gpus // placement.pp % (2 * placement.ep):
        return
    plan = planner(name)
    wider = replace(placement, ep=2 * placement.ep)
    for stage in range(placement.pp):
        assert plan.stage(wider, stage).weights <= plan.stage(placement, stage).weights


@given(placements(), st.floats(min_value=1.0, max_value=4.0))
def test_imbalance_matters_only_where_tokens_travel(drawn, imbalance):
    name, placement = drawn
    even = Planner(counts=COUNTS[name], choices=Choices(), imbalance=1.0)
    uneven = Planner(counts=COUNTS[name], choices=Choices(), imbalance=imbalance)
    for stage in range(placement.pp):
        difference = uneven.stage(placement, stage).peak - even.stage(placement, stage).peak
        assert difference >= 0
        if placement.ep == 1:
            assert difference == 0


def test_tied_embeddings_are_one_tensor_and_two_across_stages():
    tied = next(name for name, counts in COUNTS.items() if counts.shape.tied_embeddings)
    one = Placement(
        gpus=1, dp=1, sequence_parallel=False, dispatcher=None, row_tokens=4096, max_tokens_per_gpu=4096, global_batch=1
    )
    layers = len(COUNTS[tied].shape.layers)
    assert planner(tied).stage(one, 0).parameters.total == model(tied).params
    two = replace(one, gpus=2, pp=2, layer_split=(layers - 3, 3), global_batch=2)
    first, last = planner(tied).stages(two)
    assert first.parameters.embeddings == last.parameters.embeddings > 0
    assert (first.layers, last.layers) == (layers - 3, 3)


def test_a_gpus_share_of_the_optimizer_shrinks_with_data_parallelism():
    plan = planner("Qwen3-32B")
    alone = Placement(
        gpus=8,
        tp=8,
        dp=1,
        sequence_parallel=True,
        dispatcher=None,
        row_tokens=4096,
        max_tokens_per_gpu=4096,
        global_batch=8,
    )
    shared = replace(alone, gpus=64, dp=8)
    assert plan.stage(shared, 0).optimizer == pytest.approx(plan.stage(alone, 0).optimizer / 8, rel=1e-4)
    assert plan.stage(shared, 0).weights == pytest.approx(plan.stage(alone, 0).weights, rel=1e-6)
