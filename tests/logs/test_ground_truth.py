"""What is read was printed, or is nothing and a problem: drawn runs under prefixes, noise, wraps, other writers."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_truth import TRUTHS, Drawn, Truth, drawn
from log_wrappings import NOISE, WRAPPINGS, folded

from openrecipes.logs.detect import readers
from openrecipes.logs.merge import merged
from openrecipes.logs.step import StepRecord
from openrecipes.logs.stream import LogStream, problems_of
from openrecipes.problems import Problem

SEEDS = st.integers(0, 10**9)
PREFIXES = (*WRAPPINGS, "rank", "compose", "pdsh")
MORE = {"rank": b"[rank3]: ", "compose": b"trainer-1  | ", "pdsh": b"gpu-node17: "}
OTHERS = (
    "Number of parameters in billions:  6.98",
    "2026-10-11 10:00:01,123 INFO worker.py:1654 -- Connected",
    "saved 3: {'x': 2}",
    "User prompt: write 'step 5: {\"train/loss\": 2}' please",
)


def _read(text: bytes) -> tuple[str, tuple[StepRecord, ...], list[Problem]]:
    stream = LogStream("x.log", readers(None))
    stream.feed(text)
    stream.close()
    best = stream.best
    steps, told = merged([best.steps], {}, averages=best.reader.averages_over_interval)
    told = tuple(problem for problem in told if problem.rule != "step-times-missing")
    return best.reader.name, steps, [*told, *problems_of(best)]


def _wrong(truth: Truth, run: list[Drawn], steps: tuple[StepRecord, ...], *, losses: bool) -> list[tuple[object, ...]]:
    """What was read and is not true; absent values and steps are not wrong."""
    right = truth.reading(run)
    found: list[tuple[object, ...]] = []
    for step in steps:
        seconds, loss = right.get(-1 if step.step is None else step.step, (step.step_time_s, step.loss))
        found += [(step.step, step.step_time_s, seconds)] if step.step_time_s not in (None, seconds) else []
        found += [(step.step, step.loss, loss)] if losses and step.loss not in (None, loss) else []
        found += [(step.step,)] if step.step is not None and step.step not in right else []
    return found


def _all_read(truth: Truth, run: list[Drawn], steps: tuple[StepRecord, ...]) -> bool:
    return {step.step: (step.step_time_s, step.loss) for step in steps} == dict(truth.reading(run))


@settings(deadline=None, max_examples=300, derandomize=True)
@given(st.sampled_from(sorted(TRUTHS)), st.sampled_from(PREFIXES), st.integers(50, 260), SEEDS)
def test_prefixes_noise_and_wraps_bend_no_number(name: str, prefix: str, width: int, seed: int) -> None:
    chance, truth = random.Random(seed), TRUTHS[name]
    run = drawn(chance, 4)
    lines: list[bytes] = []
    for t in run:
        lines += [chance.choice(NOISE) for _ in range(chance.choice([0, 0, 1, 3]))]
        lines += [line.encode() for line in truth.lines(t, chance)]
    lines += [b"the end of the run", b""]
    wrapped = [MORE[prefix] + line for line in lines] if prefix in MORE else WRAPPINGS[prefix](lines)
    text = b"\n".join(wrapped) + b"\n"
    if chance.random() < 0.7:
        text = folded(text, width)
    name_read, steps, problems = _read(text)
    assert _wrong(truth, run, steps, losses=True) == []
    if not problems:
        assert name_read == truth.format
        assert _all_read(truth, run, steps)


@settings(deadline=None, max_examples=300, derandomize=True)
@given(st.sampled_from(sorted(TRUTHS)), st.sampled_from(OTHERS), SEEDS)
def test_another_writer_inside_a_record_bends_no_number_and_is_no_silence(name: str, other: str, seed: int) -> None:
    chance, truth = random.Random(seed), TRUTHS[name]
    run = drawn(chance, 5)
    lines: list[str] = []
    for t in run:
        mine = truth.lines(t, chance)
        if t.i == 2:
            place = chance.randrange(len(mine))
            line = mine[place]
            cut = chance.randrange(1, len(line))
            between = chance.choice(["{}", "{}\n", "\r{}\n"]).format(other)
            mine[place] = line[:cut] + between + line[cut:]
        lines += mine
    _, steps, problems = _read(("\n".join(lines) + "\n").encode())
    # A loss behind which nothing is known to follow (`Loss: 5.4`) may have been `5.4321`: nobody can tell.
    assert _wrong(truth, run, steps, losses=truth.format not in ("nemo-rl", "torchtitan")) == []
    right = truth.reading(run)
    timed = {step.step: step.loss is not None and (step.step_time_s is None) == (right[1][0] is None) for step in steps}
    first, last = min(right), max(right)  # a first or last record that is gone leaves no gap
    assert problems or all(timed.get(number) for number in right if number not in (first, last))


@pytest.mark.parametrize("name", sorted(TRUTHS))
def test_drawn_runs_read_whole_where_nothing_disturbs_them(name: str) -> None:
    chance, truth = random.Random(1), TRUTHS[name]
    run = drawn(chance, 12)
    text = "\n".join(line for t in run for line in truth.lines(t, chance)) + "\n"
    assert _all_read(truth, run, _read(text.encode())[1])


def test_a_record_that_a_prompt_quotes_is_none() -> None:
    chance, truth = random.Random(1), TRUTHS["slime"]
    run = drawn(chance, 3)
    text = "\n".join([OTHERS[3], *(line for t in run for line in truth.lines(t, chance)), OTHERS[3]]) + "\n"
    name, steps, problems = _read(text.encode())
    assert (name, problems) == ("slime", [])
    assert _all_read(truth, run, steps)
