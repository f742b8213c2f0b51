import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.layouts.degrees import Degrees, data_parallel, expert_data_parallel, nodes

degree = st.integers(1, 64)
layouts = st.builds(Degrees, tp=degree, pp=degree, vpp=degree, cp=degree, ep=degree, etp=degree, dp=degree)

PUBLISHED = [
    ("TP2 PP4 EP32 DP16", Degrees(tp=2, pp=4, ep=32, dp=16)),
    ("TP1 PP4 EP32 DP32", Degrees(tp=1, pp=4, ep=32, dp=32)),
    ("TP2 PP2 EP64 DP32", Degrees(tp=2, pp=2, ep=64, dp=32)),
]


@pytest.mark.parametrize(("label", "degrees"), PUBLISHED)
def test_published_labels_and_degrees_give_each_other(label: str, degrees: Degrees) -> None:
    assert degrees.label == label
    assert Degrees.from_label(label) == degrees
    assert degrees.gpus == 128
    assert degrees.edp == 1
    assert nodes(degrees.gpus, 8) == 16


@given(degrees=layouts)
def test_a_label_parses_back_to_its_layout(degrees: Degrees) -> None:
    assert Degrees.from_label(degrees.label) == degrees


@given(degrees=layouts)
def test_dp_follows_from_gpus_and_layout(degrees: Degrees) -> None:
    assert data_parallel(degrees.gpus, tp=degrees.tp, pp=degrees.pp, cp=degrees.cp) == degrees.dp


@given(etp=degree, ep=degree, pp=degree, edp=degree)
def test_expert_copies_follow_from_gpus_and_layout(etp: int, ep: int, pp: int, edp: int) -> None:
    assert expert_data_parallel(etp * ep * pp * edp, etp=etp, ep=ep, pp=pp) == edp


def test_only_degrees_above_one_are_added_to_a_label() -> None:
    assert Degrees().label == "TP1 PP1 EP1 DP1"
    assert Degrees(tp=2, pp=4, vpp=3, cp=2, ep=8, etp=2, dp=5).label == "TP2 PP4 VPP3 CP2 EP8 ETP2 DP5"


@pytest.mark.parametrize(
    ("label", "what"),
    [
        ("TP2 PP", "PP in the label"),
        ("TP0 PP4", "TP0 in the label"),
        ("tp2", "tp2 in the label"),
        ("TP2 TP4", "TP twice"),
        ("TP2, PP4", "TP2, in the label"),
        ("", "empty"),
    ],
)
def test_a_label_that_names_no_layout_is_refused(label: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        Degrees.from_label(label)


def test_gpus_that_do_not_divide_are_refused() -> None:
    with pytest.raises(ValueError, match="128 GPUs do not divide by tp 3 x pp 4 x cp 1 = 12"):
        data_parallel(128, tp=3, pp=4, cp=1)
    with pytest.raises(ValueError, match="128 GPUs do not divide by etp 1 x ep 64 x pp 4 = 256"):
        expert_data_parallel(128, etp=1, ep=64, pp=4)
    with pytest.raises(ValueError, match="12 GPUs do not divide by per_node 8"):
        nodes(12, 8)
    with pytest.raises(ValueError, match="tp is 0"):
        Degrees(tp=0)


def test_part_of_one_node_is_one_node() -> None:
    assert nodes(2, 8) == 1
    assert nodes(8, 8) == 1
    with pytest.raises(ValueError, match="1 or more"):
        nodes(0, 8)
