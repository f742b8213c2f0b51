"""Step times against the launch's own clock: when the log's lines came, as the launched script saw them."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

import pytest
from arrivals_of import write_arrivals
from hypothesis import given, settings
from hypothesis import strategies as st
from made_run_directories import job, made
from made_runs import EXPECTED, START_S, TIMES, made_run, slime_log

from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.record import FileHash
from openrecipes.score.run_evidence import read_run
from openrecipes.score.score import score
from openrecipes.score.scorecard import Scorecard

LONG = job(end_unix_s=START_S + 3000)
TRUE = list(accumulate(TIMES, initial=30.0))[1:]
"""When each step truly ended, in seconds after the start."""


def lines_at(ends: Sequence[float]) -> list[float]:
    """Each step prints two lines at its end."""
    return [end for end in ends for _ in range(2)]


def run_of(root: Path, told: Sequence[float] = TIMES, came: Sequence[float] = tuple(TRUE)) -> RunDirectory:
    """A run whose log tells some step times, and whose lines came at some times."""
    run = made(root, of_job=LONG, text=slime_log(told))
    write_arrivals(run, lines_at(came), start_unix_s=START_S - 60)
    return run


def card(run: RunDirectory) -> Scorecard:
    return score(EXPECTED, read_run(str(run.root)))


def rules(run: RunDirectory) -> list[tuple[str, str]]:
    return [(problem.rule, problem.severity) for problem in card(run).problems]


def test_a_truthful_log_is_scored_without_a_word(tmp_path: Path) -> None:
    scored = card(run_of(tmp_path / "run"))
    assert scored.problems == ()
    assert scored.figures == score(EXPECTED, made_run()).figures


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.1, 2.0])
def test_step_times_that_are_not_the_true_ones_are_refused(tmp_path: Path, factor: float) -> None:
    scored = card(run_of(tmp_path / "run", told=[factor * time for time in TIMES]))
    [problem] = scored.errors
    assert problem.rule == "arrival-contradiction"
    assert problem.place.key == "step 13"
    assert f"sum to {factor * sum(TIMES[4:]):.1f} s" in problem.what
    assert "149 to 151 s apart" in problem.what
    assert scored.figures is None


@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_two_seconds_and_two_percent_are_allowed(tmp_path: Path, factor: float) -> None:
    assert rules(run_of(tmp_path / "run", told=[factor * time for time in TIMES])) == []


def test_what_no_look_tells_apart_is_no_contradiction(tmp_path: Path) -> None:
    run = made(tmp_path / "run", of_job=LONG)
    write_arrivals(run, lines_at(TRUE), start_unix_s=START_S, interval_s=40.0)
    assert card(run).figures is not None
    assert "arrival-contradiction" not in dict(rules(run))


def test_steps_that_came_together_confirm_little_and_say_so(tmp_path: Path) -> None:
    held = [*TRUE[:8], *[TRUE[-1]] * 6]
    assert rules(run_of(tmp_path / "run", came=held)) == [("arrivals-held-back", "warning")]


def test_a_log_that_was_written_in_a_second_took_no_minutes(tmp_path: Path) -> None:
    at_once = [30 + 0.3 * number for number in range(14)]
    assert ("arrival-contradiction", "error") in rules(run_of(tmp_path / "run", came=at_once))


def test_half_the_time_is_refused_where_lines_are_held_back_too(tmp_path: Path) -> None:
    held = [TRUE[number | 1] for number in range(14)]
    run = run_of(tmp_path / "run", told=[time / 4 for time in TIMES], came=held)
    assert ("arrival-contradiction", "error") in rules(run)


@settings(deadline=None, max_examples=60)
@given(
    interval=st.floats(0.2, 20),
    delays=st.lists(st.floats(0, 0.9), min_size=14, max_size=14),
    scale=st.floats(0.01, 20),
)
def test_a_truthful_log_is_never_refused(
    tmp_path_factory: pytest.TempPathFactory, interval: float, delays: list[float], scale: float
) -> None:
    told = [scale * time for time in TIMES]
    ends = list(accumulate(told, initial=5.0))[1:]
    run = made(tmp_path_factory.mktemp("r") / "run", of_job=job(end_unix_s=START_S + 10_000), text=slime_log(told))
    came = [end + delay for end, delay in zip(ends, delays, strict=True)]
    write_arrivals(run, lines_at(list(accumulate(came, max))), start_unix_s=START_S, interval_s=interval)
    assert "arrival-contradiction" not in dict(rules(run))


def edited(change: Callable[[list[str]], list[str]]) -> Callable[[Path], None]:
    def edit(path: Path) -> None:
        path.write_text("".join(f"{line}\n" for line in change(path.read_text().splitlines())))

    return edit


UNFIT = [
    ("no header", edited(lambda lines: lines[1:]), "its first line is no header"),
    ("empty", edited(lambda lines: []), "its first line is no header"),
    ("a torn line", edited(lambda lines: [*lines[:4], "[3.0, 4", *lines[4:]]), "a line of it is no look at a log"),
    ("a word", edited(lambda lines: [*lines[:4], '["3.0", 4, 5]', *lines[4:]]), "a line of it is no look at a log"),
    ("not finite", edited(lambda lines: [*lines[:4], "[NaN, 4, 5]", *lines[4:]]), "a line of it is no look at a log"),
    ("deep", edited(lambda lines: [*lines[:4], "[" * 3000, *lines[4:]]), "a line of it is no look at a log"),
    ("cut short", edited(lambda lines: [*lines[:4], "[500.0, 501.0, 0]", *lines[4:]]),
     "the log was cut short or replaced while it was written"),
    ("clock back", edited(lambda lines: [lines[0], lines[3], lines[1], *lines[4:]]), "its clock goes back"),
    ("of more", edited(lambda lines: [*lines, "[900.0, 901.0, 5000]"]), "it counts 5000 lines, and the log has 28"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "edit", "reason"), UNFIT)
def test_arrivals_that_do_not_fit_refuse_nothing_and_say_why(
    tmp_path: Path, name: str, edit: Callable[[Path], None], reason: str
) -> None:
    run = run_of(tmp_path / "run", told=[time / 2 for time in TIMES])
    edit(run.arrivals)
    scored = card(run)
    [problem] = scored.problems
    assert (problem.rule, problem.severity) == ("arrivals-unfit", "warning"), name
    assert reason in problem.what
    assert scored.figures is not None


def test_a_last_line_that_was_not_finished_does_not_count(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    with run.arrivals.open("a") as file:
        file.write("[900.0, 90")
    assert rules(run) == []


def test_a_clock_that_ended_early_confirms_nothing(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    run.arrivals.write_text("".join(run.arrivals.read_text().splitlines(keepends=True)[:-1]))
    assert rules(run) == [("arrivals-short", "warning")]


def test_a_run_from_before_scores_as_ever(tmp_path: Path) -> None:
    assert rules(made(tmp_path / "run", of_job=LONG)) == []


def test_arrivals_that_should_be_there_are_missed(tmp_path: Path) -> None:
    script = FileHash(path="rendered/launch.sh", sha256="a" * 64)
    run = made(tmp_path / "run", of_job=LONG, rendered=(script,))
    run.rendered.mkdir()
    (run.rendered / "launch.sh").write_text("file=$RUN_DIR/log/arrivals.jsonl\n")
    assert rules(run) == [("arrivals-unfit", "warning")]
    (run.rendered / "launch.sh").write_text("true\n")
    assert rules(run) == []


def test_the_line_that_tells_the_time_counts(tmp_path: Path) -> None:
    """A step's own line may come long before the one that times it."""
    run = made(tmp_path / "run", of_job=LONG)
    came = [time for end, took in zip(TRUE, TIMES, strict=True) for time in (end - 0.9 * took, end)]
    write_arrivals(run, came, start_unix_s=START_S)
    assert rules(run) == []
