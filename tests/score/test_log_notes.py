"""What a log says beside its steps, and what the score makes of it."""

from dataclasses import replace
from pathlib import Path

import pytest
from made_runs import EXPECTED, START_S, TIMES, made_run, made_steps, slime_log

from openrecipes.score.expected import expected_by_hand
from openrecipes.score.log_notes import NO_NOTES, LogEvent, LogNotes, log_notes
from openrecipes.score.run_evidence import read_run
from openrecipes.score.score import score

ROOT = Path(__file__).parents[2]
S19 = ROOT / "tests/data/logs/excerpts/s19-slime-sft-14-steps-with-checkpoint-outlier.log"
CLAIM = replace(EXPECTED, supervised_token_ratio=0.676)


def notes(tmp_path: Path, *lines: str) -> LogNotes:
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    return log_notes([str(path)])


def test_supervised_tokens_are_read_by_rollout_under_any_prefix(tmp_path: Path) -> None:
    record = (
        "perf {0}: {{'rollout/response_len/mean': {1}, 'rollout/response_len/max': 5926, 'perf/rollout_time': 0.9}}"
    )
    found = notes(
        tmp_path,
        "\x1b[36m(RolloutManager pid=9875)\x1b[0m [2026-11-30 02:40:11] rollout.py:1303 - " + record.format(0, 5494.0),
        "[2026-11-30 02:40:11] smoke_sft.py:1 - " + record.format(1, 150),
        "perf 2: {'perf/step_time': 1.0}",
    )
    assert found.supervised == {0: 5494.0, 1: 150.0}


def test_moments_of_start_up_carry_the_stamp_before_them(tmp_path: Path) -> None:
    found = notes(
        tmp_path,
        "[2026-11-30 02:40:07] utils.py:972 - x",
        "(MegatronTrainRayActor pid=9876)  loading release distributed checkpoint from /ckpt",
        "[2026-11-30 02:40:10] utils.py:972 - x",
        "  successfully loaded checkpoint from /ckpt [ t 1/1, p 1/1 ] at iteration 0",
    )
    assert found.moments["loaded"] - found.moments["loading"] == 3


def test_events_are_told_in_words_with_their_line(tmp_path: Path) -> None:
    found = notes(
        tmp_path,
        "x",
        "(T pid=1) [2026-10-05 10:08:22] timer.py:32 - Timer save_model end (elapsed: 94.8s)",
        " validation loss at iteration 30 | lm loss value: 9.941200E+00 | lm loss PPL: 2.076831E+04 | ",
        "saving checkpoint at iteration      30 to /ckpt in torch_dist format",
    )
    assert [(event.line, event.words) for event in found.events] == [
        (2, "a checkpoint save of 94.8 s"), (3, "an evaluation"), (4, "a checkpoint save")
    ]  # fmt: skip


def with_supervised(*means: float) -> LogNotes:
    return LogNotes(supervised=dict(enumerate(means)))


@pytest.mark.parametrize(
    ("means", "is_refused"),
    [
        ((0.676 * 8192,) * 14, False),
        ((0.663 * 8192,) * 14, False),  # 1.9 % fewer
        ((0.662 * 8192,) * 14, True),  # 2.1 % fewer
        ((0.9 * 8192,) * 14, False),  # more is no worse
        ((0.5 * 8192,) * 14, True),
        ((), False),
        ((0.4 * 8192, 0.9 * 8192), False),  # so wide a scatter proves nothing
    ],
)
def test_fewer_supervised_tokens_than_the_recipe_has_are_refused(means: tuple[float, ...], is_refused: bool) -> None:
    card = score(CLAIM, made_run(notes=with_supervised(*means)))
    assert card.is_refused is is_refused
    assert [problem.rule for problem in card.errors] == ["supervised-tokens"] * is_refused


def test_a_claim_that_is_not_known_is_not_held_against_a_run() -> None:
    assert not score(EXPECTED, made_run(notes=with_supervised(1.0))).is_refused


def test_a_slow_step_is_named_with_what_stands_beside_it() -> None:
    steps = made_steps((*TIMES[:8], 40.0, *TIMES[9:]))
    events = (LogEvent(file="train.log", line=108, words="a checkpoint save"),
              LogEvent(file="train.log", line=107, words="an evaluation"),
              LogEvent(file="other.log", line=108, words="an evaluation"))  # fmt: skip
    card = score(EXPECTED, made_run(steps, notes=replace(NO_NOTES, events=events)))
    slow = next(problem for problem in card.problems if problem.rule == "unsteady-step")
    assert "step 8 took 40.000 s (beside it: a checkpoint save, line 108)" in slow.what


def test_the_posted_run_with_a_save_in_its_window_scores_only_where_unsteady_is_allowed() -> None:
    expected, run = expected_by_hand(gpus=128, global_batch=128, row_tokens=8192), read_run(str(S19))
    card = score(expected, run)
    assert {problem.rule for problem in card.errors} == {"unsteady-cv", "unsteady-step"}
    slow = next(problem for problem in card.problems if problem.rule == "unsteady-step")
    assert "a checkpoint save of 94.8 s" in slow.what
    allowed = score(expected, run, allow_unsteady=True)
    assert allowed.figures is not None
    assert allowed.figures.tokens_per_s_per_gpu == pytest.approx(276.497, abs=1e-3)
    assert allowed.figures.step_time_cv_percent == pytest.approx(101.294, abs=1e-3)
    assert "clock-evenly-spaced" in {problem.rule for problem in allowed.problems}


def test_stamps_that_follow_the_steps_are_a_clock_and_are_held_against_them() -> None:
    steps = [replace(step, timestamp_s=START_S + 2 * (step.timestamp_s - START_S)) for step in made_steps()
             if step.timestamp_s]  # fmt: skip
    assert "clock-contradiction" in {problem.rule for problem in score(EXPECTED, made_run(steps)).errors}


def test_an_unsteady_window_is_told_beside_another_refusal() -> None:
    steps = [replace(step, tokens=7) for step in made_steps((*TIMES[:8], 40.0, *TIMES[9:]))]
    rules = {problem.rule for problem in score(EXPECTED, made_run(steps)).errors}
    assert {"tokens-per-step", "unsteady-step", "unsteady-cv"} <= rules


@pytest.mark.parametrize(
    ("tokens", "arguments", "dp", "is_refused"),
    [
        (128 * 8192, {}, None, False),
        (8 * 8192, {}, 16, False),  # one of 16 data-parallel ranks
        (8 * 8192, {}, 32, True),
        (8 * 8192, {"data_parallel_size": "16"}, None, False),
        (8 * 8192, {"data_parallel_size": "8"}, None, True),
        (8 * 8192, {}, None, False),  # whole rows of one of 16 ranks, as far as anybody can tell
        (8 * 8192 + 1, {}, None, True),
        (127 * 8192, {}, None, True),
    ],
)
def test_tokens_of_one_rank_alone_are_taken_for_what_they_are(
    tokens: int, arguments: dict[str, str], dp: int | None, is_refused: bool
) -> None:
    steps = [replace(step, tokens=tokens) for step in made_steps()]
    card = score(replace(EXPECTED, dp=dp), made_run(steps, arguments=arguments))
    assert card.is_refused is is_refused


def test_a_score_tells_its_token_definition_limits_and_formulas() -> None:
    expected = expected_by_hand(
        gpus=128, global_batch=128, row_tokens=8192, gpu_type="H200", model_name="Qwen3.5-397B-A17B"
    )
    document = score(expected, made_run()).document()
    assert document["token_definition"] == "row-tokens/1"
    assert document["mfu_formula"] == "6N/1"
    assert document["steady_limits"]["step_over_median"] == 1.5
    exact = document["architecture_flops"]
    assert exact["formula"] == "architecture/1"
    assert exact["mfu"] / document["mfu"] == pytest.approx(exact["per_token"] / exact["weights"])


def test_notes_are_read_with_the_run(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("perf 0: {'rollout/response_len/mean': 5494.0}\n" + slime_log())
    assert read_run(str(path)).notes.supervised == {0: 5494.0}
