"""Several runs of one recipe: the median, the spread, the failed ones; none left out to please."""

from dataclasses import replace
from statistics import median

from made_runs import EXPECTED, TIMES, made_run, made_steps

from openrecipes.score.run_evidence import Run
from openrecipes.score.score import score
from openrecipes.score.sensitivity import sensitivity
from openrecipes.score.several_runs import score_runs


def run(name: str, factor: float = 1.0, steps: int = 14) -> Run:
    return made_run(made_steps([factor * time for time in TIMES[:steps]]), name=name, log_sha256=name * 64)


def rate(of: Run) -> float:
    figures = score(EXPECTED, of).figures
    assert figures is not None
    return figures.tokens_per_s_per_gpu


def test_the_headline_is_the_median_run() -> None:
    runs = [run("a"), run("b", 1.02), run("c", 0.99)]
    card = score_runs(EXPECTED, runs)
    assert card.figures is not None
    assert card.between_runs is not None
    assert card.figures.tokens_per_s_per_gpu == median(map(rate, runs)) == rate(runs[0])
    assert (card.runs, card.between_runs.runs) == (3, 3)
    assert (card.between_runs.min, card.between_runs.max) == (rate(runs[1]), rate(runs[2]))
    assert card.figures.confidence_interval is not None
    assert card.document()["runs"] == 3
    assert len(card.figures.scored_times_s) == 30


def test_one_run_alone_is_scored_as_such() -> None:
    assert score_runs(EXPECTED, [run("a")]) == score(EXPECTED, run("a"))


def test_the_hash_of_several_logs_does_not_depend_on_their_order() -> None:
    one, other = score_runs(EXPECTED, [run("a"), run("b", 1.01)]), score_runs(EXPECTED, [run("b", 1.01), run("a")])
    assert one.log_sha256 == other.log_sha256
    assert one.log_sha256 not in {"a" * 64, "b" * 64, None}


def test_a_failed_attempt_is_listed_and_the_rest_scored() -> None:
    card = score_runs(EXPECTED, [run("a"), run("b", steps=6), run("c", 1.01)])
    assert card.figures is not None
    assert card.runs == 2
    assert [attempt.refused for attempt in card.attempts] == [(), ("steps-short",), ()]
    assert [(problem.rule, problem.severity) for problem in card.problems] == [("steps-short", "warning")]


def test_a_run_that_came_out_badly_cannot_be_left_out() -> None:
    slow = list(TIMES)
    slow[9] = 40.0
    card = score_runs(EXPECTED, [run("a"), made_run(made_steps(slow), name="b", log_sha256="b" * 64)])
    assert card.figures is None
    assert {problem.rule for problem in card.errors} == {"unsteady-cv", "unsteady-step"}


def test_only_failed_attempts_are_no_result() -> None:
    card = score_runs(EXPECTED, [run("a", steps=3), run("b", steps=6)])
    assert card.figures is None
    assert {problem.rule for problem in card.errors} == {"steps-short"}


def test_one_log_twice_is_not_two_runs() -> None:
    card = score_runs(EXPECTED, [run("a"), replace(run("a"), name="copy")])
    assert card.figures is None
    assert {problem.rule for problem in card.errors} == {"runs-repeated"}


def test_runs_of_another_window_are_another_measurement() -> None:
    expected = replace(EXPECTED, steps_per_run=None, window=None)
    long = made_run(made_steps([*TIMES, *TIMES[4:10]]), name="b", log_sha256="b" * 64)
    card = score_runs(expected, [run("a"), long])
    assert {problem.rule for problem in card.errors} == {"runs-differ"}


def test_sensitivity_looks_at_the_run_nearest_to_the_headline() -> None:
    runs = [run("a", 1.02), run("b", steps=5), run("c"), run("d", 0.98)]
    variants = sensitivity(EXPECTED, runs, score_runs(EXPECTED, runs))
    assert variants[0].tokens_per_s_per_gpu == rate(runs[2])
    assert variants[0].change_percent == 0
