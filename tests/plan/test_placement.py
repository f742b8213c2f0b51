import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.plan.placement import Placement


def placement(**fields) -> Placement:
    given = {
        "gpus": 8,
        "dp": 1,
        "sequence_parallel": False,
        "dispatcher": None,
        "row_tokens": 8192,
        "max_tokens_per_gpu": 8192,
        "global_batch": 64,
    }
    return Placement(**{**given, **fields})


@given(st.sampled_from((1, 2, 4)), st.sampled_from((1, 2, 3)), st.integers(1, 4))
def test_every_layer_stands_on_one_stage_once(pp, vpp, per_chunk):
    layers = pp * vpp * per_chunk
    stages = placement(pp=pp, vpp=vpp).stage_layers(layers)
    found = sorted(layer for stage in stages for start, end in stage for layer in range(start, end))
    assert found == list(range(layers))
    assert all(len(stage) == vpp for stage in stages)


def test_interleaved_chunks_take_turns_over_the_stages():
    assert placement(pp=2, vpp=2).stage_layers(8) == (((0, 2), (4, 6)), ((2, 4), (6, 8)))


def test_an_uneven_split_is_followed():
    assert placement(pp=3, layer_split=(3, 4, 1)).stage_layers(8) == (((0, 3),), ((3, 7),), ((7, 8),))


@pytest.mark.parametrize(
    ("fields", "chunks"),
    [
        ({"pp": 4}, [4, 3, 2, 1]),
        ({"pp": 4, "global_batch": 2}, [2, 2, 2, 1]),  # two microbatches are all there are
        ({"pp": 2, "vpp": 2}, [5, 3]),
        ({"pp": 1}, [1]),
    ],
)
def test_chunks_in_flight_are_the_warm_up_and_one(fields, chunks):
    found = placement(**fields)
    assert [found.chunks_in_flight(stage) for stage in range(found.pp)] == chunks


def test_tokens_are_padded_to_tp_times_the_multiplier():
    assert placement(row_tokens=1000, tp=2, pad_multiplier=256).tokens == 1024
    assert placement(row_tokens=8192, cp=2, rows_per_microbatch=2).tokens == 8192
