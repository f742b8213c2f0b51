"""How a model is laid over the GPUs of a conversion, and what that takes."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.catalog.gpus import gpu
from openrecipes.catalog.models import all_models, model
from openrecipes.targets.conversion import OVERHEAD_GIB, conversions, disk_need, laid_over

LARGE = "Qwen3.5-397B-A17B"


def slimes_own(layers: int, world: int) -> tuple[int, int] | None:
    """Stages and layers of the last one, as tools/convert_hf_to_torch_dist.py of slime a897e1f4 finds them."""
    if world > layers:
        return None
    pp = world
    while layers - -(-layers // pp) * (pp - 1) <= 0:
        if pp % 2:
            return None
        pp //= 2
    return pp, layers - -(-layers // pp) * (pp - 1)


@given(st.sampled_from(all_models()), st.integers(1, 12), st.integers(1, 8))
def test_the_stages_are_those_that_slimes_converter_takes_itself(found, nodes: int, gpus: int) -> None:
    made, wanted = laid_over(found, nodes, gpus), slimes_own(len(found.shape.layers), nodes * gpus)
    assert (made is None) == (wanted is None)
    if made is None:
        return
    assert (made.pp, made.last_stage_layers) == wanted
    assert (len(found.shape.layers) - made.last_stage_layers) % max(1, made.pp - 1) == 0
    assert made.gpus % (made.pp * made.ep) == 0
    assert (found.shape.num_experts or 1) % made.ep == 0


@given(st.sampled_from(all_models()), st.integers(1, 12), st.integers(1, 8))
def test_all_ranks_together_hold_the_whole_model(found, nodes: int, gpus: int) -> None:
    made = laid_over(found, nodes, gpus)
    if made is not None:
        assert made.gib_per_gpu * made.pp * made.ep >= found.params * 2 / 2**30 * 0.999
        assert made.gib_per_gpu <= found.params * 2 / 2**30 * 1.5


def test_experts_are_split_over_gpus_that_the_stages_leave() -> None:
    made = laid_over(model(LARGE), 2, 8)
    assert made is not None
    assert [argument.argv for argument in made.arguments()] == [
        ("--pipeline-model-parallel-size", "8"),
        ("--decoder-last-pipeline-num-layers", "4"),
        ("--expert-model-parallel-size", "2"),
    ]
    one = laid_over(model(LARGE), 1, 1)
    assert one is not None
    assert list(one.arguments()) == []


@pytest.mark.parametrize(("card", "nodes"), [("H200", 1), ("B200", 1), ("H100", 2)])
def test_the_fewest_nodes_hold_the_largest_model(card: str, nodes: int) -> None:
    usable = gpu(card).usable_memory_gib
    first = next(conversions(model(LARGE), usable, nodes=range(1, 17), gpus_per_node=(8,)))
    assert first.nodes == nodes
    assert usable is not None
    assert first.gib_per_gpu + OVERHEAD_GIB <= usable


def test_more_gpus_than_layers_are_no_conversion() -> None:
    assert laid_over(model("Qwen3.5-MoE-small"), 1, 8) is None


@pytest.mark.parametrize("reads_weights", [True, False])
def test_the_disk_must_hold_every_weight_once_and_what_is_stored_beside(reads_weights: bool) -> None:
    found = model(LARGE)
    need = disk_need(found, reads_weights=reads_weights)
    stored = sum(prod(tensor.shape) * tensor.number for tensor in found.tensors)
    assert need.torch_dist_bytes == 2 * stored
    assert need.hf_checkpoint_bytes == (2 * stored if reads_weights else 0)
    assert need.torch_dist_bytes < need.needed_bytes < 1.03 * need.torch_dist_bytes
    assert disk_need(model("Qwen3.5-MoE-mini"), reads_weights=False).work_bytes == 64 * 2**20
