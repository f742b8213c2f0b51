"""Two writers on one line: whatever is lost, no step gets the numbers of another, or a part of its own."""

import pytest
from log_emitters import EMITTERS

from openrecipes.logs.detect import readers
from openrecipes.logs.stream import LogStream


@pytest.mark.parametrize("name", sorted(EMITTERS))
def test_a_record_that_begins_inside_another_bends_no_number(name: str) -> None:
    emitter = EMITTERS[name]
    lines = emitter.run(6)
    right = {step: (seconds, loss) for step, seconds, loss in emitter.expected(6)}
    first = len(emitter.lines(0))
    for cut in range(1, len(lines[first]), 3):
        one, other = lines[first], lines[first + 1]
        text = b"\n".join((*lines[:first], one[:cut] + other, one[cut:], *lines[first + 2 :])) + b"\n"
        stream = LogStream("x.log", readers(emitter.format))
        stream.feed(text)
        stream.close()
        assert len(stream.best.steps) >= 4
        for step in stream.best.steps:
            if step.step is not None:
                assert step.step_time_s in (None, right[step.step][0]), (cut, text)
                assert step.loss in (None, right[step.step][1]), (cut, text)
