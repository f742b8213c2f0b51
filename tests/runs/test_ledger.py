"""The ledger of a job: its phases tile it, whatever is known of them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.runs.ledger import MEANS, Moments, ledger

WHOLE = Moments(
    prepared=900.0,
    start=1000.0,
    first_line=1060.0,
    loading=1120.0,
    loaded=1300.0,
    first_step=1360.0,
    window_start=1420.0,
    window_end=1570.0,
    last_step=1570.0,
    end=1600.0,
)
moment = st.none() | st.floats(0, 3000, allow_nan=False)
moments = st.builds(
    Moments,
    prepared=moment,
    start=st.floats(1000, 1500),
    first_line=moment,
    loading=moment,
    loaded=moment,
    first_step=moment,
    window_start=moment,
    window_end=moment,
    last_step=moment,
    end=st.floats(1501, 2500),
)


def test_every_phase_of_a_job_is_told() -> None:
    book = ledger(WHOLE, 128)
    assert {phase.names[0]: phase.seconds for phase in book.phases} == {
        "queue": 100, "image": 60, "data": 60, "checkpoint": 180, "first_step": 60, "warm_up": 60, "window": 150,
        "teardown": 30,
    }  # fmt: skip
    assert all(len(phase.names) == 1 for phase in book.phases)
    assert book.gpu_hours == pytest.approx(128 * 600 / 3600)
    assert book.scored_share == pytest.approx(0.25)
    assert book.phases[0].gpu_hours == 0
    longer = ledger(replace(WHOLE, last_step=1590.0), 128)
    assert ("after_window",) in {phase.names for phase in longer.phases}


@given(moments, st.integers(1, 4096))
def test_the_phases_sum_to_the_gpu_hours_of_the_job(when: Moments, gpus: int) -> None:
    book = ledger(when, gpus)
    assert book.gpu_hours == pytest.approx(gpus * (when.end - when.start) / 3600)
    assert all(phase.seconds >= 0 and phase.gpu_hours >= 0 for phase in book.phases)
    tiles = [phase for phase in book.phases if phase.names != ("queue",)]
    assert sum(phase.seconds for phase in tiles) == pytest.approx(when.end - when.start)
    told = [name for phase in tiles for name in phase.names]
    assert told == [name for name in MEANS if name in told]
    assert book.scored_share is None or 0 <= book.scored_share <= 1


def test_what_nothing_tells_apart_stands_together() -> None:
    book = ledger(replace(WHOLE, loading=None, loaded=None, prepared=None), 8)
    assert [phase.names for phase in book.phases][:2] == [("image",), ("data", "checkpoint", "first_step")]
    unknown = replace(WHOLE, first_line=None, loading=None, loaded=None, first_step=None, window_start=None,
                      window_end=None, last_step=None)  # fmt: skip
    assert [phase.names for phase in ledger(unknown, 8).phases] == [("queue",), tuple(MEANS)[1:]]
    assert ledger(unknown, 8).scored_share is None


def test_a_job_that_ends_before_it_starts_has_no_ledger() -> None:
    with pytest.raises(ValueError, match="ends before"):
        ledger(replace(WHOLE, end=10.0), 8)


def test_the_document_is_plain() -> None:
    document = ledger(WHOLE, 128).document()
    assert document["phases"][1] == {"names": ["image"], "seconds": 60.0, "gpu_hours": pytest.approx(128 / 60)}
    assert document["scored_share"] == pytest.approx(0.25)


def test_a_job_without_a_container_has_no_phase_of_one() -> None:
    book = ledger(replace(WHOLE, has_image=False, prepared=None), 8)
    names = {name for phase in book.phases for name in phase.names}
    assert names == set(MEANS) - {"image", "queue", "after_window"}
    assert book.gpu_hours == pytest.approx(ledger(WHOLE, 8).gpu_hours)
