"""Files that are no logs, and logs that nobody would want: no traceback, no wrong figure, a located problem."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_emitters import EMITTERS

from openrecipes.logs.detect import readers
from openrecipes.logs.printed_values import number
from openrecipes.logs.run_log import RunLog, read_log
from openrecipes.logs.stream import LogStream


def _written(tmp_path: Path, text: bytes) -> RunLog:
    (tmp_path / "x.log").write_bytes(text)
    return read_log([tmp_path / "x.log"])


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (b"", "log-empty"),
        (random.Random(1).randbytes(300_000), "log-binary"),
        (b"\0" * 300_000, "log-binary"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 400, "log-binary"),
        (b"nothing here\n" * 1000, "no-steps"),
        (b"a" * 3_000_000, "no-steps"),
        (b"'perf/step_time': " * 100_000, "no-steps"),
        (b"step " + b"9" * 6000 + b": {'train/loss': 1.5}\n", "no-steps"),
        (b"{'loss': 1.5, 'iteration': '" + b"1" * 5000 + b"/2'}\n", "no-steps"),
    ],
)
def test_no_steps_are_explained(text: bytes, rule: str, tmp_path: Path) -> None:
    log = _written(tmp_path, text)
    assert log.steps == ()
    assert log.format is None
    assert rule in [problem.rule for problem in log.problems]
    assert all(problem.place.file.endswith("x.log") for problem in log.problems)


def test_a_huge_step_number_is_its_own(tmp_path: Path) -> None:
    text = b"step 1: {'train/loss': 1.5}\nstep 1000000000000000000: {'train/loss': 1.25}\n"
    log = _written(tmp_path, text + b"perf 1000000000000000000: {'perf/step_time': 2.5}\n")
    assert [(step.step, step.step_time_s) for step in log.steps] == [(1, None), (10**18, 2.5)]
    assert [problem.rule for problem in log.problems] == ["value-absent", "steps-missing"]


@pytest.mark.parametrize("name", sorted(EMITTERS))
def test_a_run_on_one_endless_line_is_read(name: str, tmp_path: Path) -> None:
    emitter = EMITTERS[name]
    filler = b"x" * 9000 + b" "
    text = b"".join(filler + b" ".join(line.encode() for line in emitter.lines(i)) + b" " for i in range(40))
    log = _written(tmp_path, text)
    assert log.format == emitter.format
    assert [(step.step, step.step_time_s, step.loss) for step in log.steps] == emitter.expected(40)
    assert {step.line for step in log.steps} == {1}


def test_values_that_no_number_holds_stay_what_they_are(tmp_path: Path) -> None:
    log = _written(tmp_path, b"step 1: {'train/loss': " + b"9" * 6000 + b"}\nperf 1: {'perf/step_time': -1e999}\n")
    assert [(step.loss, step.step_time_s) for step in log.steps] == [(float("inf"), float("-inf"))]


def test_deep_nesting_is_only_unreadable(tmp_path: Path) -> None:
    log = _written(tmp_path, b"step 1: {'train/loss': " + b"[" * 60_000 + b"\nstep 2: {'train/loss': 1.5}\n")
    assert [(step.step, step.loss) for step in log.steps] == [(2, 1.5)]
    assert [(problem.rule, problem.place.line) for problem in log.problems if problem.severity == "error"] == [
        ("record-unreadable", 1)
    ]


@settings(deadline=None, max_examples=300)
@given(st.text("0123456789_.eE+-nainf()',[]{} ", max_size=24))
def test_no_text_is_too_odd_to_be_a_number_or_none(text: str) -> None:
    assert number(text) is None or isinstance(number(text), float)


def test_a_number_that_an_underscore_ends_is_none(tmp_path: Path) -> None:
    text = b"Training epoch 0, iteration 5/99 | lr: 1e-05 | reduced_train_loss: 1.5 | consumed_samples: 13184_\n"
    log = _written(tmp_path, text * 3)
    assert {step.loss for step in log.steps} == {1.5}


def test_a_broken_record_of_dllogger_is_told(tmp_path: Path) -> None:
    good = EMITTERS["dllogger"].run(3)
    log = _written(tmp_path, b"\n".join((good[0].replace(b'loss": ', b'loss"x: '), *good[1:])) + b"\n")
    assert [step.step for step in log.steps] == [1, 2]
    assert [(problem.rule, problem.place.line) for problem in log.problems] == [("record-unreadable", 1)]


def test_a_hole_of_nuls_hides_nothing_around_it(tmp_path: Path) -> None:
    lines = EMITTERS["slime"].run(4)
    log = _written(tmp_path, b"\n".join(lines[:4]) + b"\n" + b"\0" * 200_000 + b"\n".join(lines[4:]) + b"\n")
    assert [step.step for step in log.steps] == [0, 1, 2, 3]


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(EMITTERS)), st.randoms(use_true_random=False))
def test_damaged_bytes_never_raise_and_never_bend_a_number(name: str, chance: random.Random) -> None:
    emitter = EMITTERS[name]
    lines = emitter.run(6)
    damaged = chance.randrange(len(lines))
    cut = chance.randrange(len(lines[damaged]) + 1)
    lines[damaged] = lines[damaged][:cut] + bytes(chance.randrange(128, 256) for _ in range(3)) + b"\n"
    stream = LogStream("x.log", readers(emitter.format))
    stream.feed(b"\n".join(lines) + b"\n")
    stream.close()
    right = {step: (seconds, loss) for step, seconds, loss in emitter.expected(6)}
    for step in stream.best.steps:
        if step.step is not None and step.step in right:
            assert step.step_time_s in (None, right[step.step][0])
            assert step.loss in (None, right[step.step][1])
