"""Whatever makes a figure mean nothing is refused by name, and nothing else is."""

from collections.abc import Callable
from dataclasses import replace
from math import inf, nan

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from made_runs import EXPECTED, START_S, TIMES, TOKENS, made_run, made_steps

from openrecipes.logs.step import Extras, StepRecord
from openrecipes.score.expected import Expected, ExpectedArgument
from openrecipes.score.run_evidence import Run
from openrecipes.score.scene import ranges
from openrecipes.score.score import score

Steps = list[StepRecord]
DUMP = {"world_size": "128", "global_batch_size": "128", "rollout_batch_size": "128", "num_rollout": "14"}


def with_step(number: int, **changes: object) -> Steps:
    return [replace(step, **changes) if step.step == number else step for step in made_steps()]  # type: ignore[arg-type]


def with_steps(**changes: object) -> Steps:
    return [replace(step, **changes) for step in made_steps()]  # type: ignore[arg-type]


def timed(*changes: tuple[int, float]) -> Steps:
    """Steps with other times, and a clock that agrees with them."""
    times = list(TIMES)
    for number, time in changes:
        times[number] = time
    return made_steps(times)


def restarted_at(number: int) -> Steps:
    return [replace(step, attempt=int((step.step or 0) >= number)) for step in made_steps()]


def repeated(number: int) -> Steps:
    steps = made_steps()
    again = replace(steps[number], step_time_s=15.7, train_time_s=15.4, wait_time_s=0.3, attempt=1)
    return [*steps[: number + 1], again, *steps[number + 1 :]]


# Name, the steps, and the one rule that they trip.
STEP_MUTATIONS: list[tuple[str, Callable[[], Steps], str]] = [
    ("no step at all", list, "no-steps"),
    ("no numbers", lambda: with_steps(step=None), "steps-unnumbered"),
    ("the log ends early", lambda: made_steps()[:12], "steps-short"),
    ("the log goes on", lambda: made_steps([*TIMES, 15.0]), "steps-surplus"),
    ("a step is missing", lambda: [step for step in made_steps() if step.step != 7], "steps-missing"),
    ("a step is there twice", lambda: repeated(7), "steps-repeated"),
    ("a time is nan", lambda: with_step(7, step_time_s=nan), "step-time-not-finite"),
    ("a time is inf", lambda: with_step(7, step_time_s=inf), "step-time-not-finite"),
    ("a time is zero", lambda: with_step(7, step_time_s=0.0), "step-time-not-positive"),
    ("a time is negative", lambda: with_step(7, step_time_s=-15.0), "step-time-not-positive"),
    ("a time is beyond all runs", lambda: with_step(7, step_time_s=1.7e308), "step-time-implausible"),
    ("a time is next to nothing", lambda: with_step(7, step_time_s=5e-324), "step-time-implausible"),
    ("a time is absent", lambda: with_step(7, step_time_s=None), "step-time-absent"),
    ("no step has a time", lambda: with_steps(step_time_s=None), "step-times-absent"),
    ("rates alone", lambda: with_steps(step_time_s=None, extra=Extras({"tps": 10_050.0})), "only-averaged-rates"),
    ("a loss is nan", lambda: with_step(7, loss=nan), "loss-not-finite"),
    ("a gradient norm is inf", lambda: with_step(7, grad_norm=inf), "grad-norm-not-finite"),
    ("one loss is missing", lambda: with_step(7, loss=None), "loss-absent"),
    ("every iteration skipped", lambda: with_steps(skipped=1), "steps-all-skipped"),
    ("means over ten steps", lambda: with_step(12, interval=10), "steps-averaged"),
    ("means over a rollout", lambda: with_steps(timed_over=2), "steps-averaged"),
    ("started again in the window", lambda: restarted_at(8), "window-restarted"),
    ("started again at its first step", lambda: restarted_at(4), "window-restarted"),
    ("rows of half the length", lambda: with_steps(tokens=TOKENS // 2), "tokens-per-step"),
    ("one row too few", lambda: with_step(9, tokens=TOKENS - 8192), "tokens-per-step"),
    ("half the rows", lambda: with_steps(global_batch=64), "global-batch"),
    ("the log's clock is slower", lambda: [replace(s, timestamp_s=START_S + 20 * (s.step or 0)) for s in made_steps()],
     "clock-contradiction"),
    ("the log's clock goes back", lambda: with_step(13, timestamp_s=START_S), "clock-contradiction"),
    ("milliseconds for seconds", lambda: with_steps(step_time_s=15000.0, train_time_s=None), "clock-contradiction"),
    ("a digit is lost", lambda: with_step(7, step_time_s=15.0), "step-time-parts"),
    ("training alone", lambda: with_steps(train_time_s=15.4), "step-time-parts"),
    ("a spread of 8 %", lambda: timed((6, 13.0), (9, 17.0), (11, 17.0), (5, 13.5)), "unsteady-cv"),
    ("a rise of 4 %", lambda: timed(*((n, 15 + 0.06 * n) for n in range(4, 14))), "unsteady-trend"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "steps", "rule"), STEP_MUTATIONS)
def test_each_mutation_trips_its_rule_and_no_other(name: str, steps: Callable[[], Steps], rule: str) -> None:
    card = score(EXPECTED, made_run(steps()))
    assert {problem.rule for problem in card.errors} == {rule}
    assert card.figures is None
    document = card.document()
    assert document["tokens_per_s_per_gpu"] is document["mfu"] is document["window_tokens"] is document["runs"] is None
    assert rule in {problem["rule"] for problem in document["problems"]}
    with pytest.raises(ValueError):
        card.result()


def test_the_run_they_are_made_from_trips_none() -> None:
    card = score(EXPECTED, made_run())
    assert card.problems == ()
    assert card.figures is not None
    assert not card.figures.unsteady


def test_a_step_of_half_again_the_median_is_named() -> None:
    card = score(EXPECTED, made_run(timed((8, 23.0))))
    assert {problem.rule for problem in card.errors} == {"unsteady-cv", "unsteady-step"}
    [step] = [problem for problem in card.errors if problem.rule == "unsteady-step"]
    assert (step.place.line, step.place.key) == (108, "step 8")
    assert step.what == ("step 8 took 23.000 s, where a steady window stays within 1.5 times the median of 15.050 s")


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(
    "change", [{"step_time_s": nan}, {"step_time_s": -1.0}, {"loss": nan}, {"tokens": 1}, {"interval": 4}]
)
def test_what_stands_before_the_window_never_refuses_it(number: int, change: dict[str, object]) -> None:
    assert score(EXPECTED, made_run(with_step(number, **change))).figures == score(EXPECTED, made_run()).figures


@example([1.0] * 8 + [1.05, 1.0], 1)  # 15.2 + 1.05 = 16.25: printed 15.2, 1.1 and 16.2
@given(st.lists(st.floats(1, 40), min_size=10, max_size=10), st.integers(1, 9))
def test_parts_that_are_rounded_are_no_contradiction(parts: list[float], decimals: int) -> None:
    steps = made_steps()
    for number, part in enumerate(parts, 4):
        whole = TIMES[number] + part
        rounded = {"step_time_s": whole, "train_time_s": TIMES[number], "wait_time_s": part}
        steps[number] = replace(steps[number], **{key: round(value, decimals) for key, value in rounded.items()})  # type: ignore[arg-type]
    assert "step-time-parts" not in {problem.rule for problem in score(EXPECTED, made_run(steps)).problems}


@given(st.lists(st.floats(0.5, 500), min_size=4, max_size=4))
def test_warm_up_times_never_change_a_score(warm_up: list[float]) -> None:
    run = made_run(made_steps([*warm_up, *TIMES[4:]]))
    assert score(EXPECTED, run).figures == score(EXPECTED, made_run()).figures


def test_older_releases_count_the_tokens_of_one_rank() -> None:
    steps = with_steps(tokens=TOKENS // 16, global_batch=None)
    assert score(EXPECTED, made_run(steps)).problems == ()
    assert {problem.rule for problem in score(replace(EXPECTED, dp=8), made_run(steps)).errors} == {"tokens-per-step"}


def test_a_log_without_stamps_or_tokens_is_scored_by_its_times() -> None:
    card = score(EXPECTED, made_run(with_steps(timestamp_s=None, tokens=None, global_batch=None)))
    assert card.figures == score(EXPECTED, made_run()).figures


def test_some_skipped_iterations_are_a_warning() -> None:
    card = score(EXPECTED, made_run(with_step(7, skipped=1)))
    assert [(problem.rule, problem.severity) for problem in card.problems] == [("steps-skipped", "warning")]
    assert card.figures is not None


def test_numbers_from_one_are_counted_from_zero() -> None:
    steps = [replace(step, step=(step.step or 0) + 1) for step in made_steps()]
    assert score(EXPECTED, made_run(steps, first_number=1)).figures == score(EXPECTED, made_run()).figures
    assert {problem.rule for problem in score(EXPECTED, made_run(steps)).errors} == {"steps-surplus"}


def test_an_endless_step_number_is_refused_at_once() -> None:
    steps = [*made_steps(), replace(made_steps()[-1], step=10**18)]
    expected = replace(EXPECTED, steps_per_run=2**53, window=(4, 2**53 - 1))
    assert {"steps-missing", "steps-surplus"} <= {problem.rule for problem in score(expected, made_run(steps)).errors}


DUMP_MUTATIONS: list[tuple[dict[str, str], str]] = [
    ({"world_size": "64"}, "log-of-another-recipe"),
    ({"global_batch_size": "64", "rollout_batch_size": "64"}, "log-of-another-recipe"),
    ({"num_rollout": "20"}, "log-of-another-recipe"),
    ({"rollout_batch_size": "256"}, "log-of-another-recipe"),
    ({"mock_data": "True"}, "mock-data"),
    ({"moe_router_force_load_balancing": "True"}, "forced-balance"),
    ({"record_memory_history": "True"}, "profiler-running"),
    ({"use_pytorch_profiler": "True"}, "profiler-running"),
    ({"profile": "True", "profile_step_start": "10", "profile_step_end": "12"}, "profiler-running"),
    ({"profile": "True", "profile_step_start": "0", "profile_step_end": "4"}, "profiler-running"),
]


@pytest.mark.parametrize(("changes", "rule"), DUMP_MUTATIONS)
def test_each_argument_trips_its_rule(changes: dict[str, str], rule: str) -> None:
    card = score(EXPECTED, made_run(arguments={**DUMP, **changes}))
    assert {problem.rule for problem in card.errors} == {rule}
    assert card.figures is None


def test_an_argument_that_was_not_given_is_called_unset() -> None:
    expected = replace(EXPECTED, arguments={"recompute": ExpectedArgument(key="layout.recompute", printed=("None",))})
    [problem] = score(expected, made_run(arguments={"recompute": "full"})).errors
    assert problem.what == "this run had recompute full, but layout.recompute makes it unset"


def test_the_arguments_they_are_made_from_trip_none() -> None:
    card = score(EXPECTED, made_run(arguments=DUMP))
    assert (card.problems, card.profiler) == ((), False)
    assert score(EXPECTED, made_run()).profiler is None


def test_a_profiler_that_ends_before_the_window_is_none_of_its_business() -> None:
    dump = {**DUMP, "profile": "True", "profile_step_start": "1", "profile_step_end": "3"}
    card = score(EXPECTED, made_run(arguments=dump))
    assert (card.problems, card.profiler) == ((), False)


def test_every_stated_argument_is_held_against_the_dump() -> None:
    arguments = {"tensor_model_parallel_size": ExpectedArgument(key="layout.tp", printed=("2",))}
    expected = replace(EXPECTED, arguments=arguments)
    right = made_run(arguments={**DUMP, "tensor_model_parallel_size": "2"})
    wrong = made_run(arguments={**DUMP, "tensor_model_parallel_size": "1"})
    assert score(expected, right).problems == ()
    [problem] = score(expected, wrong).problems
    assert (problem.rule, problem.place.key) == ("log-of-another-recipe", "tensor_model_parallel_size")
    assert problem.what == "this run had tensor_model_parallel_size 1, but layout.tp makes it 2"
    assert score(expected, made_run()).problems == ()  # a log without a dump says nothing against it


def test_a_log_that_changed_while_it_was_read_is_refused() -> None:
    assert {problem.rule for problem in score(EXPECTED, made_run(log_changed=True)).errors} == {"log-changed"}


@pytest.mark.parametrize(
    ("expected", "rule"),
    [
        (replace(EXPECTED, window=(0, 9)), "window-first-step"),
        (replace(EXPECTED, window=(9, 9)), "window-too-short"),
        (replace(EXPECTED, window=(4, 14)), "window-outside"),
        (replace(EXPECTED, window=(20, 30)), "window-outside"),
    ],
)
def test_a_window_that_cannot_be_scored_is_refused(expected: Expected, rule: str) -> None:
    card = score(expected, made_run())
    assert {problem.rule for problem in card.errors} == {rule}
    assert card.figures is None


@given(
    st.lists(
        st.builds(
            StepRecord,
            step=st.one_of(st.none(), st.integers(0, 16)),
            step_time_s=st.one_of(st.none(), st.floats(), st.sampled_from([1.7e308, 5e-324, 15.0])),
            loss=st.one_of(st.none(), st.floats()),
            tokens=st.one_of(st.none(), st.integers(0, 2 * TOKENS)),
            interval=st.integers(1, 3),
            attempt=st.integers(0, 2),
            timestamp_s=st.one_of(st.none(), st.floats(0, 1e10)),
        ),
        max_size=20,
    )
)
def test_whatever_a_log_holds_it_is_scored_or_refused(steps: Steps) -> None:
    card = score(EXPECTED, made_run(steps), allow_unsteady=True)
    assert (card.figures is None) == bool(card.errors)


def test_a_run_knows_its_steps_and_its_day() -> None:
    run: Run = made_run()
    assert run.steps_read == 14
    assert str(run.measured) == "2026-09-21"


def test_gaps_are_named_as_ranges() -> None:
    assert ranges([4]) == "4"
    assert ranges([9, 4, 6, 5, 12, 11]) == "4-6, 9, 11-12"
