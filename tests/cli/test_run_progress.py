"""What a person reads of a run that goes on."""

import pytest

from openrecipes.cli.run_progress import progress_line, run_progress
from openrecipes.logs.step import StepRecord
from openrecipes.targets.follow import Progress


def look(stage, **changes):
    said = {"elapsed_s": 90.0, "steps": (), "steps_done": 0, "steps_wanted": 14, "left_s": None, **changes}
    return Progress(stage=stage, **said)


STEP = StepRecord(file="train.log", line=7, step=4, step_time_s=1.42, loss=1.213)


def test_a_waiting_job_costs_nothing_and_says_what_the_scheduler_says():
    line = progress_line(look("queued", detail="job 17 pending: Resources"), 1012.0)
    assert line == "queued  job 17 pending: Resources, 90.0 s so far"


def test_what_it_has_cost_and_will_have_cost_follow_from_time_and_price():
    line = progress_line(look("training", steps_done=5, left_s=3600.0, last=STEP), 1000.0)
    assert line == (
        "training  step 5 of 14  loss 1.213  1.42 s a step  60 min 00 s left, 90.0 s so far, $25.00 of about $1,025.00"
    )
    assert progress_line(look("joining", detail="Ray has 1 of 16 nodes"), 1000.0) == (
        "joining: nodes come to Ray  Ray has 1 of 16 nodes, 90.0 s so far, $25.00"
    )
    assert "$" not in progress_line(look("training", steps_done=5, left_s=3600.0))


def test_without_a_terminal_only_news_are_printed(capsys: pytest.CaptureFixture[str]):
    with run_progress() as show:
        for stage, steps in (("queued", 0), ("queued", 0), ("joining", 0), ("training", 1), ("training", 1)):
            show(look(stage, steps_done=steps, steps_wanted=100))
        for steps in range(2, 101):
            show(look("training", steps_done=steps, steps_wanted=100))
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["queued,", "joining:", "training"]
    assert len(lines) < 32
    assert "step 100 of 100" in lines[-1]
