from dataclasses import replace
from pathlib import Path

import pytest
from measured_memory import DATA, MeasuredRank, measured_ranks

RANKS = measured_ranks()
ANCHORS = ("ok-dense-tp2sp", "ok-moe-ep2", "ok-q35-tp2sp-ep2")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "plan.md"


def deviation(rank: MeasuredRank) -> float:
    """Planned peak over the measured one, less 1."""
    return rank.planned().peak * 1024 / rank.peak_mib - 1


def test_there_are_runs_of_every_kind():
    assert len(DATA["runs"]) == 54
    assert len(RANKS) == 66
    assert {rank.placement.recompute.granularity for rank in RANKS} == {"none", "selective", "full"}
    assert {rank.planned().instant for rank in RANKS} == {"loss", "layer"}
    assert set(ANCHORS) < {rank.run for rank in RANKS}


@pytest.mark.parametrize("rank", RANKS, ids=lambda rank: rank.label)
def test_a_measured_peak_is_met_by_the_formulas(rank):
    """Far inside the 5 % asked for: what is left is the spread of experts over layers, and 16 MiB of a pipeline."""
    assert abs(deviation(rank)) < 0.01


@pytest.mark.parametrize(
    "rank", [rank for rank in RANKS if rank.imbalance is None and rank.placement.vpp == 1], ids=lambda r: r.label
)
def test_where_nothing_is_random_the_peak_is_met_to_a_thousandth(rank):
    """Two, in a pipeline: what its first stage sends and receives is counted as if all stood at the peak."""
    assert abs(deviation(rank)) < (0.001 if rank.placement.pp == 1 else 0.002)


@pytest.mark.parametrize("rank", RANKS, ids=lambda rank: rank.label)
def test_parameters_of_a_rank_are_those_that_it_counted(rank):
    assert rank.planned().parameters.total == rank.parameters


@pytest.mark.parametrize(
    ("change", "least"),
    [
        ({"master_bytes": 4}, 0.02),  # FP32 masters beside the BF16 weights
        ({"moment_bytes": (2, 2)}, 0.02),
        ({"gradient_bytes": 2}, 0.02),
        ({"loss_chunk": 1024}, 0.1),
        ({"loss_recompute": True}, 0.05),
        ({"fused_weight_gradients": False}, 0.01),
    ],
)
def test_another_choice_would_miss_the_anchors(change, least):
    """The negative control: a wrong assumption is seen in every one of the three runs."""
    for rank in (rank for rank in RANKS if rank.run in ANCHORS):
        wrong = rank.planned(replace(rank.choices, **change)).peak * 1024 / rank.peak_mib - 1
        assert abs(wrong) > least, rank.run


def test_the_page_shows_every_measured_rank_beside_its_plan():
    assert measured_table() in PAGE.read_text(encoding="utf-8"), measured_table()


def measured_table() -> str:
    """The table of docs/plan.md."""
    lines = ["| run | measured, MiB | planned, MiB | deviation |", "| --- | ---: | ---: | ---: |"]
    for rank in RANKS:
        planned = rank.planned().peak * 1024
        lines.append(
            f"| {rank.label} | {rank.peak_mib:,.1f} | {planned:,.1f} | {round(100 * deviation(rank), 2) + 0.0:+.2f} % |"
        )
    return "\n".join(lines) + "\n"
