"""What a log's sample taught the scan loses no record of the rest, whatever the pieces in which the log comes."""

import random
from itertools import pairwise

import pytest
from log_emitters import EMITTERS
from log_wrappings import WRAPPINGS, folded

from openrecipes.logs import stream as stream_module
from openrecipes.logs.detect import readers
from openrecipes.logs.stream import LogStream

NOISE = (
    *(b"perf/step_time is a key", b"loading shards 1/8", b"step 7 of preprocessing", b"elapsed time", b"Loss: n/a"),
    *(b"WARNING: iteration is slow", b"\rbar 3%|\rbar 4%|", b"", b"Memory-Usage before step: {'gpu': '0'}"),
)


def _read(text: bytes, cuts: list[int]) -> tuple[object, ...]:
    stream = LogStream("x.log", readers(None))
    for start, stop in pairwise([0, *cuts, len(text)]):
        stream.feed(text[start:stop])
    stream.close()
    best = stream.best
    steps = [(one.step, one.step_time_s, one.loss, one.line, one.skipped, one.timestamp_s) for one in best.steps]
    problems = [(one.rule, one.place.line, one.what) for one in best.problems]
    return best.reader.name, steps, problems, stream.first_stamp_s, stream.last_stamp_s, stream.holds_text


def _text(chance: random.Random) -> bytes:
    lines: list[bytes] = []
    for line in EMITTERS[chance.choice(sorted(EMITTERS))].run(chance.randrange(9, 30)):
        pid = 10 ** chance.randrange(1, 6)
        lines.append((b"(Actor pid=%d, ip=10.0.1.2) " % pid if chance.random() < 0.5 else b"") + line)
        lines += [chance.choice(NOISE) for _ in range(chance.choice((0, 0, 1, 4)))]
    text = b"\n".join(WRAPPINGS[chance.choice(sorted(WRAPPINGS))](lines)) + b"\n"
    return folded(text, chance.choice((60, 80, 132, 160))) if chance.random() < 0.5 else text


@pytest.mark.parametrize("part", range(4))
def test_sample_and_pieces_change_no_reading(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    for seed in range(40 * part, 40 * part + 40):
        chance = random.Random(seed)
        text = _text(chance)
        monkeypatch.setattr(stream_module, "_SAMPLE", 10**9)
        whole = _read(text, [])
        monkeypatch.setattr(stream_module, "_SAMPLE", chance.randrange(200, len(text)))
        cuts = sorted(chance.randrange(len(text)) for _ in range(chance.choice((1, 2, 10, 60))))
        assert _read(text, cuts) == whole, seed
        read += len(whole[1])  # type: ignore[arg-type]
    assert read > 400


def test_records_are_found_where_a_wrap_leaves_the_marks_on_a_line_that_alone_shows_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    emitter = EMITTERS["megatron"]
    text = folded(b"\n".join(emitter.run(40)) + b"\n", 60)
    assert b"\nconsumed samples:         2176 | elapsed time per iteration \n" in text
    monkeypatch.setattr(stream_module, "_SAMPLE", len(text) // 4)
    stream = LogStream("x.log", readers(None))
    for start in range(0, len(text), 1000):
        stream.feed(text[start : start + 1000])
    stream.close()
    assert [step.step for step in stream.best.steps] == list(range(1, 41))


def test_what_the_head_announces_counts_in_whatever_piece_it_comes() -> None:
    lines = EMITTERS["megatron 2022"].run(60)
    overflow = b"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 8, reducing to 4"
    filler = b"loading shards and nothing else\n" * 24_000
    text = b"starting\n" + filler + overflow + b"\n" + b"\n".join(lines[:40]) + b"\n" + filler
    text += b"\n".join((overflow, overflow, *lines[40:])) + b"\n"
    for piece in (len(text), 1 << 20, 65_536, 4096):
        stream = LogStream("x.log", readers(None))
        for start in range(0, len(text), piece):
            stream.feed(text[start : start + piece])
        stream.close()
        skipped = {step.step: step.skipped for step in stream.best.steps if step.skipped}
        assert skipped == {1: 1, 21: 2}, piece
