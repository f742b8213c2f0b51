"""A growing log tells each step once, as soon as its line is whole."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_emitters import EMITTERS

from openrecipes.logs.follow import LogFollower


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(EMITTERS)), st.integers(20, 2000))
def test_each_step_is_told_once_whatever_the_pieces(name: str, piece: int) -> None:
    emitter = EMITTERS[name]
    text = b"\n".join(emitter.run(6)) + b"\n"
    follower = LogFollower()
    told = [step for start in range(0, len(text), piece) for step in follower.feed(text[start : start + piece])]
    told += follower.close()
    assert [(step.step, step.step_time_s, step.loss) for step in told] == emitter.expected(6)
    assert follower.format == emitter.format


@pytest.mark.parametrize("name", ["slime", "nemo-rl", "megatron", "mllog", "dllogger"])
def test_a_step_is_told_as_soon_as_its_lines_are_whole(name: str) -> None:
    emitter = EMITTERS[name]
    follower = LogFollower()
    told = [follower.feed(b"\n".join(line.encode() for line in emitter.lines(i)) + b"\n") for i in range(5)]
    numbers = [[step.step for step in steps] for steps in told]
    # MLLOG's counter counts samples or tokens: what a step adds to it shows with the third record.
    assert numbers == ([[], [], [1, 2, 3], [4], [5]] if name == "mllog" else [[emitter.first + i] for i in range(5)])


def test_half_a_line_waits() -> None:
    step, perf = EMITTERS["slime"].run(1)
    follower = LogFollower()
    assert follower.feed(step + b"\n" + perf[:-9]) == []
    assert [record.step for record in follower.feed(perf[-9:] + b"\n")] == [0]
    assert follower.close() == []
