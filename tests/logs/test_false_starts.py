"""What only looks like the beginning of a record is passed over quickly, and never with a record in it."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_emitters import EMITTERS
from log_wrappings import folded

from openrecipes.logs import stream as stream_module
from openrecipes.logs import track
from openrecipes.logs.detect import READERS, readers
from openrecipes.logs.run_log import RunLog, read_log
from openrecipes.logs.segments import segment_at
from openrecipes.logs.stream import LogStream
from openrecipes.logs.text import clock_s, decoded

FALSE_STARTS = (
    *(b"perf/step_time is a key", b"'perf/step_time' x", b"step 7: {'train/loss': 1", b"perf 7: {'perf/step_time"),
    *(b"'perf/step_time': 1.0", b": [repeated 3x across cluster]", b"perf 7: [repeated 3x", b", 'train/loss': 2}"),
    *(b"elapsed time per iteration", b"lm loss lm loss", b" iteration 7/ 9 | lm loss", b"| consumed samples"),
    *(b"(ms): elapsed time per iteration", b"OVERFLOW! x", b"Step Time :", b"mem-allocated-gigabytes"),
    *(b"MLLOG", b':::MLLOG {"key": "a"', b"train_loss", b"DLLL {", b"global_step", b"consumed_samples: 3"),
    *(b"Training epoch 0, iteration", b"reduced_train_loss", b"Epoch 0: 3/4 [global_step", b"global_step/max_steps"),
    *(b"tps: ", b"tps: 1,000", b"step: 7 loss", b"memory(GiB)", b"{'loss': 1, 'memory(GiB)", b"learning_rate'"),
    *(b"Loss: 3", b"- Loss: 3", b"= Step ", b" =====", b"===== Step 5/100 =====", "\u2022 Loss".encode()),
    *(b"timing_s/step", b"actor/ x", b"actor/loss:3", b" - actor/loss:3", b"step:3 - x", b"train/lr"),
    *(b"\x1b[36mperf/\x1b[0m", b"&quot;perf/x&quot;: 1", b'\\"perf/x\\"', b"[36mperf/", "\u2588perf/ x".encode()),
    *(b"\rperf/ 3%|", b"x\rperf/ 3%|\rperf/ 4%|", b"1.50", b"", b"nothing here"),
)


@pytest.mark.parametrize("name", sorted(READERS))
@settings(deadline=None, max_examples=150)
@given(chance=st.randoms(use_true_random=False))
def test_a_line_without_a_telling_sign_holds_nothing(name: str, chance: random.Random) -> None:
    reader = READERS[name]()
    own = [line for emitter in EMITTERS.values() if emitter.format == name for line in emitter.run(2)]
    line = b" ".join(chance.choice((*own, *FALSE_STARTS)) for _ in range(chance.randrange(1, 4)))
    start = chance.randrange(len(line) + 1)
    line = line[start : chance.randrange(start, len(line) + 1)].replace(b"\r", b"")
    if reader.find(decoded(line)).tells:
        assert reader.telling.search(b"\n" + line + b"\nnext", 0, len(line) + 1)


@pytest.mark.parametrize("name", sorted(READERS))
def test_a_telling_sign_is_no_line_of_everyday(name: str) -> None:
    assert not READERS[name]().telling.search(b"INFO 10:20:30 server.py:41 loaded 8 shards in 3.5 s (100%)")


def _reading(log: RunLog) -> list[str]:
    return [*map(repr, log.steps), *map(repr, log.problems)]


def _log(chance: random.Random) -> bytes:
    lines: list[bytes] = []
    for whole in EMITTERS[chance.choice(sorted(EMITTERS))].run(chance.randrange(1, 12)):
        pool = chance.sample(FALSE_STARTS, chance.randrange(1, 5))
        for _ in range(chance.choice((0, 1, 3, 40))):
            false = chance.choice(pool)
            lines.append(b"(Actor pid=1) " + false if chance.random() < 0.2 else false)
        cut = whole[: chance.randrange(len(whole) + 1)]
        wrapped = folded(whole + b"\n", chance.choice((20, 40, 80))).rstrip(b"\n")
        lines.append(chance.choice((cut, wrapped, wrapped, whole, whole, whole)))
    if chance.random() < 0.1:
        lines.insert(chance.randrange(len(lines) + 1), (chance.choice(FALSE_STARTS) + b" ") * 9000)
    return chance.choice((b"\n", b"\n", b"\r\n")).join(lines)


def test_lines_that_are_passed_over_change_no_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed_over = 0
    for seed in range(60):
        path = tmp_path / f"{seed}.log"
        path.write_bytes(_log(random.Random(seed)))
        monkeypatch.setattr(track, "_DOUBT", 10**9)
        looked_at = _reading(read_log([path]))
        monkeypatch.setattr(track, "_DOUBT", 1)
        assert _reading(read_log([path])) == looked_at, seed
        passed_over += len(looked_at) > 0
    assert passed_over == 60


@pytest.mark.parametrize("false", [b"perf/step_time is a key\n", b"elapsed time per iteration\n", b"Loss: 3 x y z\n"])
def test_false_starts_are_not_looked_at_one_by_one(
    false: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0
    find = segment_at

    def counted(*args: object) -> object:
        nonlocal looks
        looks += 1
        return find(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(track, "segment_at", counted)
    count = 40_000
    record = b"\n".join(EMITTERS["slime"].run(1)) + b"\n"
    (tmp_path / "x.log").write_bytes(false * count + record + false * count)
    log = read_log([tmp_path / "x.log"])
    assert [(step.step, step.line) for step in log.steps] == [(0, count + 1)]
    assert looks < count / 50


@pytest.mark.parametrize("name", sorted(EMITTERS))
def test_a_record_at_the_edge_of_the_sample_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    emitter = EMITTERS[name]
    head, rest = (b"\n".join(part) + b"\n" for part in (emitter.run(9), emitter.run(12)[len(emitter.run(9)) :]))
    monkeypatch.setattr(stream_module, "_SAMPLE", len(head) - 1)
    for cut in range(0, len(rest), 7):
        stream = LogStream("x.log", readers(None))
        stream.feed(head + rest[:cut])
        stream.feed(rest[cut:])
        stream.close()
        assert [(step.step, step.step_time_s, step.loss) for step in stream.best.steps] == emitter.expected(12), cut


@given(st.lists(st.sampled_from(["x" * 700, "2026-10-11 10:00:01", ".5", " ", "2026-10-11T10:00:02.25Z", "+0100"])))
def test_the_last_stamp_is_the_same_in_a_long_text(pieces: list[str]) -> None:
    text = "".join(pieces)
    for before in range(0, len(text) + 1, 3):
        assert clock_s(text + "y" * 5000, before) == clock_s(text[:before])
