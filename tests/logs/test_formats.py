"""Every format's records are found in whatever stands around them, and its format is recognised."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_emitters import EMITTERS
from log_wrappings import WRAPPINGS, folded, noise

from openrecipes.logs.detect import READERS, readers
from openrecipes.logs.run_log import read_log
from openrecipes.logs.stream import LogStream

Read = list[tuple[int | None, float | None, float | None]]
NAMES = sorted(EMITTERS)


def _read(text: bytes, piece: int = 1 << 20) -> tuple[str, Read]:
    stream = LogStream("x.log", readers(None))
    for start in range(0, len(text), piece):
        stream.feed(text[start : start + piece])
    stream.close()
    best = stream.best
    assert best.problems == []
    return best.reader.name, [(step.step, step.step_time_s, step.loss) for step in best.steps]


def test_every_format_has_an_emitter() -> None:
    assert {emitter.format for emitter in EMITTERS.values()} == set(READERS)


@pytest.mark.parametrize("wrapping", sorted(WRAPPINGS))
@pytest.mark.parametrize("name", NAMES)
def test_wrappings_never_change_the_steps(name: str, wrapping: str) -> None:
    emitter = EMITTERS[name]
    text = b"\n".join(WRAPPINGS[wrapping](emitter.run(4))) + b"\n"
    assert _read(text) == (emitter.format, emitter.expected(4))


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(NAMES), st.lists(noise, min_size=40, max_size=40), st.sampled_from(sorted(WRAPPINGS)), st.data())
def test_noise_and_pieces_never_change_the_steps(
    name: str, between: list[list[bytes]], wrapping: str, data: st.DataObject
) -> None:
    emitter = EMITTERS[name]
    lines = list(between[0])
    for line, more in zip(emitter.run(4), between[1:], strict=False):
        lines += [line, *more]
    piece = data.draw(st.integers(50, 3000))
    assert _read(b"\n".join(WRAPPINGS[wrapping](lines)) + b"\n", piece) == (emitter.format, emitter.expected(4))


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(NAMES), st.integers(60, 300), st.integers(50, 3000))
def test_hard_wraps_never_change_the_steps(name: str, width: int, piece: int) -> None:
    emitter = EMITTERS[name]
    text = folded(b"\n".join(emitter.run(4)) + b"\n", width)
    assert _read(text, piece) == (emitter.format, emitter.expected(4))


@pytest.mark.parametrize("name", NAMES)
def test_a_named_format_reads_as_the_detected_one(name: str, tmp_path: Path) -> None:
    emitter = EMITTERS[name]
    (tmp_path / "x.log").write_bytes(b"\n".join(emitter.run(4)) + b"\n")
    detected = read_log([tmp_path / "x.log"])
    named = read_log([tmp_path / "x.log"], format=emitter.format)
    assert (named.format, named.steps) == (detected.format, detected.steps) == (emitter.format, named.steps)
    assert len(named.steps) == 4


@pytest.mark.parametrize("name", NAMES)
def test_a_log_cut_anywhere_never_gives_a_wrong_figure(name: str) -> None:
    emitter = EMITTERS[name]
    text = b"\n".join(emitter.run(2)) + b"\n"
    right = {step: (seconds, loss) for step, seconds, loss in emitter.expected(2)}
    for end in range(0, len(text), 3):
        stream = LogStream("x.log", readers(emitter.format))
        stream.feed(text[:end])
        stream.close()
        for step in (step for step in stream.best.steps if step.step is not None):
            seconds, loss = right[step.step]
            assert step.step_time_s in (None, seconds), text[:end][-40:]
            assert step.loss in (None, loss), text[:end][-40:]
