from dataclasses import replace

import pytest

from openrecipes.catalog.models import model
from openrecipes.plan.megatron_estimate import estimated_parameters, megatron_estimate_gib
from openrecipes.plan.parameters import model_parameters
from openrecipes.plan.placement import Placement
from openrecipes.plan.planner import Planner
from openrecipes.plan.search import published_choices

DENSE = model("Qwen3-32B")
COUNTS = model_parameters(DENSE)
# As the estimate assumes: masters and moments in FP32, the loss with one FP32 copy of the logits.
CHOICES = replace(published_choices(DENSE), master_bytes=4)
PLANNER = Planner(counts=COUNTS, choices=CHOICES, imbalance=1.0)


def placed(**degrees: int) -> Placement:
    group = {"tp": 8, "pp": 1, "dp": 4, **degrees}
    return Placement(
        gpus=group["tp"] * group["pp"] * group["dp"],
        **group,
        sequence_parallel=True,
        dispatcher=None,
        row_tokens=8192,
        max_tokens_per_gpu=8192,
        global_batch=128,
    )


@pytest.mark.parametrize("placement", [placed(), placed(pp=4), placed(tp=2), placed(tp=4, pp=2)])
def test_weights_gradients_and_states_agree_with_megatron_s_estimate(placement):
    stage = PLANNER.stage(placement, 0)
    assert stage.parameters.total == pytest.approx(estimated_parameters(COUNTS.shape, placement, CHOICES), rel=2e-3)
    states = stage.weights + stage.gradients + stage.optimizer
    estimate = estimated_parameters(COUNTS.shape, placement, CHOICES) * (6 + 12 / placement.dp) / 1024**3
    assert states == pytest.approx(estimate, rel=2e-3)


def test_kept_activations_are_of_the_estimate_s_order():
    """Its 18 bytes a width and token know neither wide query heads nor gated MLPs, and one copy of the logits."""
    placement = placed(pp=4)
    whole = megatron_estimate_gib(COUNTS.shape, placement, CHOICES)
    stage = PLANNER.stage(placement, 0)
    states = stage.weights + stage.gradients + stage.optimizer
    assert whole is not None
    assert 0.8 < stage.activations / (whole - states) < 1.6


def test_there_is_no_estimate_for_experts_and_delta_nets():
    assert megatron_estimate_gib(model("Qwen3-30B-A3B").shape, placed(), CHOICES) is None
    assert megatron_estimate_gib(model("Qwen3.5-4B").shape, placed(), CHOICES) is None
