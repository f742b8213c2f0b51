"""The ledger of a run directory: the job's clock and the log's own, in whatever time zone that was."""

from pathlib import Path

import pytest
from made_run_directories import job, made
from made_runs import EXPECTED, TIMES, made_run, slime_log

from openrecipes.score.run_evidence import read_run
from openrecipes.score.score import score
from openrecipes.score.several_runs import score_runs

LOADING = "  loading release distributed checkpoint from /ckpt\n"


def test_a_bare_log_has_no_ledger() -> None:
    card = score(EXPECTED, made_run())
    assert card.ledger is None
    assert card.document()["ledger"] is None


def shifted(text: str, hours: int) -> str:
    """The log as a trainer in another time zone prints it; its stamps are all within one day."""
    return "\n".join(
        line if "[2026-" not in line else f"{line[:line.index(' ', line.index('[2026-')) + 1]}"
        f"{int(line.split('[2026-')[1][6:8]) + hours:02d}{line[line.index('[2026-') + 14:]}"
        for line in text.splitlines()
    ) + "\n"  # fmt: skip


@pytest.mark.parametrize("hours", [0, 2, -7])
def test_the_phases_tile_the_job_in_any_time_zone(tmp_path: Path, hours: int) -> None:
    text = shifted(slime_log(), hours)
    made(tmp_path / "run", of_job=job(), text=text)
    card = score(EXPECTED, read_run(str(tmp_path / "run")))
    assert card.ledger is not None
    took = {phase.names: phase.seconds for phase in card.ledger.phases}
    assert card.ledger.gpu_hours == pytest.approx(card.gpu_hours)
    assert took["window",] == pytest.approx(sum(TIMES[4:]), abs=1.1)
    assert took["first_step",] == pytest.approx(TIMES[0], abs=1.1)
    assert took["warm_up",] == pytest.approx(sum(TIMES[1:4]), abs=1.1)
    assert card.ledger.scored_share == pytest.approx(sum(TIMES[4:]) / 360, rel=0.01)


def test_the_checkpoint_is_told_apart_where_the_log_names_it(tmp_path: Path) -> None:
    first = slime_log().splitlines()[0]
    stamp = first[first.index("[") : first.index("]") + 1]
    before = stamp.replace(stamp[12:20], "14:12:01") if stamp[12:20] > "14:12:01" else stamp
    text = f"(T pid=1) {before} x.py:1 - starts\n{LOADING}" + slime_log()
    made(tmp_path / "run", of_job=job(), text=text)
    card = score(EXPECTED, read_run(str(tmp_path / "run")))
    assert card.ledger is not None
    assert ("checkpoint",) in {phase.names for phase in card.ledger.phases}


def test_a_log_of_another_day_does_not_fit_into_the_job(tmp_path: Path) -> None:
    far = job(start_unix_s=1_700_000_000.0, end_unix_s=1_700_000_360.0)
    made(tmp_path / "run", of_job=far)
    card = score(EXPECTED, read_run(str(tmp_path / "run")))
    assert card.ledger is not None
    # Any whole number of quarters is a time zone to this check, so the stamps were moved; they never leave the job.
    assert card.ledger.gpu_hours == pytest.approx(128 * 360 / 3600)


def test_several_runs_have_no_one_ledger(tmp_path: Path) -> None:
    runs = []
    for name in ("a", "b"):
        made(tmp_path / name, of_job=job(), text=slime_log() + f"# {name}\n", log=None)
        runs.append(read_run(str(tmp_path / name)))
    assert score_runs(EXPECTED, runs).ledger is None


@pytest.mark.parametrize(
    ("target", "cluster", "names"),
    [
        ("local", None, set()),
        ("local", "node", {"image"}),
        ("ssh", "hosts", {"image"}),
        ("slurm", "c", {"queue", "image"}),
    ],
)
def test_a_queue_and_an_image_are_told_only_where_there_can_be_one(
    tmp_path: Path, target: str, cluster: str | None, names: set[str]
) -> None:
    made(tmp_path / "run", of_job=job(), target=target, cluster=cluster)
    found = score(EXPECTED, read_run(str(tmp_path / "run"))).ledger
    assert found is not None
    assert {name for phase in found.phases for name in phase.names} & {"queue", "image"} == names
