"""Slime's records are found in whatever stands around them."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_wrappings import WRAPPINGS, folded, noise

from openrecipes.logs.run_log import RunLog, read_log
from openrecipes.logs.slime import SlimeReader
from openrecipes.logs.stream import LogStream

LOGS = Path(__file__).parent.parent / "data" / "logs"
H200 = json.loads((LOGS / "h200" / "expected.json").read_text())


def test_all_h200_logs_are_here() -> None:
    assert len(H200) == 14
    assert sorted(H200) == sorted(path.name.removesuffix(".gz") for path in (LOGS / "h200").glob("*.gz"))


@pytest.mark.parametrize("name", sorted(H200))
def test_real_logs_read_as_expected(name: str) -> None:
    log = read_log([LOGS / "h200" / f"{name}.gz"])
    assert [step.step for step in log.steps] == H200[name]["steps"]
    assert [step.step_time_s for step in log.steps] == H200[name]["step_time_s"]
    assert [step.loss for step in log.steps] == H200[name]["loss"]
    assert [problem.rule for problem in log.problems] == ([] if log.steps else ["no-steps"])
    assert all(step.tokens == 16 * 8192 and step.global_batch == 16 for step in log.steps)


def test_a_real_argument_dump_is_read() -> None:
    log = read_log([LOGS / "h200" / "ok-dense-tp2sp.log.gz"])
    assert len(log.arguments) == 865
    assert log.arguments["tensor_model_parallel_size"] == "2"
    assert log.arguments["hf_checkpoint"]
    assert log.first_stamp_s is not None
    assert log.last_stamp_s is not None
    assert 60 < log.last_stamp_s - log.first_stamp_s < 600


@pytest.mark.parametrize("name", ["plain", "job", "job_ok", "inf", "kill"])
def test_ray_output_reads_the_same_directly_and_through_a_job(name: str) -> None:
    log = read_log([LOGS / "ray" / f"{name}.log"])
    numbers = [0, 1, 2, 9] if name == "kill" else [0, 1, 2]
    assert [step.step for step in log.steps] == numbers
    assert [step.step_time_s for step in log.steps] == [15.02] * len(numbers)
    assert [repr(step.loss) for step in log.steps][:3] == ["1.5", "1.4", "nan"]
    assert [repr(step.grad_norm) for step in log.steps][:3] == ["2.0", "2.0", "inf"]
    assert [problem.rule for problem in log.problems] == (["steps-missing"] if name == "kill" else [])


def _lines(count: int) -> list[bytes]:
    """A run of `count` steps, no two numbers alike."""
    lines = []
    for step in range(count):
        lines.append(
            f"[2026-10-11 10:{step:02}:20] model.py:909 - step {step}: {{'train/loss': {1.21 - step / 64}, "
            f"'train/grad_norm': {2.3 + step / 32}, 'train/lr-pg_0': 9.087e-06, 'train/global_batch_size': 128, "
            f"'train/step': {step}}}"
        )
        lines.append(
            f"[2026-10-11 10:{step:02}:20] train_metric_utils.py:50 - perf {step}: {{"
            f"'perf/train_wait_time': {step / 8 + 0.25}, 'perf/actor_train_time': 14.25, 'perf/train_time': 14.5, "
            f"'perf/actor_train_tok_per_s': {1048576 / 14.25}, 'perf/step_time': {14.75 + step / 8}, "
            "'perf/wait_time_ratio': 0.027}"
        )
    return [line.encode() for line in lines]


def _read(text: bytes, piece: int = 1 << 20) -> list[tuple[object, ...]]:
    stream = LogStream("x.log", [SlimeReader()])
    for start in range(0, len(text), piece):
        stream.feed(text[start : start + piece])
    stream.close()
    found = stream.best
    assert found.problems == []
    return [
        (
            step.step,
            step.step_time_s,
            step.train_time_s,
            step.wait_time_s,
            step.loss,
            step.grad_norm,
            step.lr,
            step.tokens,
        )
        for step in found.steps
    ]


EXPECTED = [
    (step, 14.75 + step / 8, 14.5, step / 8 + 0.25, 1.21 - step / 64, 2.3 + step / 32, 9.087e-06, 1048576)
    for step in range(3)
]


@pytest.mark.parametrize("name", sorted(WRAPPINGS))
def test_wrappings_never_change_the_steps(name: str) -> None:
    assert _read(b"\n".join(WRAPPINGS[name](_lines(3)))) == EXPECTED


@settings(deadline=None, max_examples=60)
@given(st.lists(noise, min_size=7, max_size=7), st.sampled_from(sorted(WRAPPINGS)), st.integers(1, 400))
def test_noise_and_pieces_never_change_the_steps(between: list[list[bytes]], name: str, piece: int) -> None:
    lines = list(between[0])
    for line, more in zip(_lines(3), between[1:], strict=True):
        lines += [line, *more]
    assert _read(b"\n".join(WRAPPINGS[name](lines)), piece) == EXPECTED


@settings(deadline=None, max_examples=60)
@given(st.integers(24, 300), st.integers(1, 400))
def test_hard_wraps_never_change_the_steps(width: int, piece: int) -> None:
    assert _read(folded(b"\n".join(_lines(3)), width), piece) == EXPECTED


def test_a_step_needs_no_neighbours_to_find_its_timing(tmp_path: Path) -> None:
    lines = _lines(4)
    shuffled = [lines[0], lines[2], lines[1], lines[3], lines[7], lines[6], lines[4]]
    (tmp_path / "x.log").write_bytes(b"\n".join(shuffled))
    log = read_log([tmp_path / "x.log"])
    for step in log.steps:
        assert step.step_time_s in (None, 14.75 + (step.step or 0) / 8)
        assert step.loss in (None, 1.21 - (step.step or 0) / 64)


def _written(tmp_path: Path, text: bytes) -> RunLog:
    (tmp_path / "x.log").write_bytes(text)
    return read_log([tmp_path / "x.log"])


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        ("nan", "nan"), ("inf", "inf"), ("-inf", "-inf"), ("np.float64(1.5)", "1.5"), ("float('nan')", "nan"),
        ("tensor(1.5, device='cuda:0')", "1.5"), ("tensor(nan)", "nan"), ("1e-05", "1e-05"),
        ("np.float32(-inf)", "-inf"),
    ],
)  # fmt: skip
def test_numbers_are_read_as_python_prints_them(tmp_path: Path, printed: str, meant: str) -> None:
    log = _written(tmp_path, f"step 3: {{'train/loss': {printed}, 'train/step': 3, ...}}\n".encode())
    assert [(step.step, repr(step.loss)) for step in log.steps] == [(3, meant)]


def test_several_optimizer_steps_share_one_timing(tmp_path: Path) -> None:
    lines = [
        f"{word} {number}: {{{body}}}"
        for rollout in range(3)
        for word, number, body in (
            ("step", 2 * rollout, f"'train/loss': {rollout}.0"),
            ("step", 2 * rollout + 1, f"'train/loss': {rollout}.5"),
            (
                "perf",
                rollout,
                f"'perf/step_time': {30 + rollout}.0, 'perf/train_wait_time': 1.0, 'perf/train_time': 29.0",
            ),
        )
    ]
    log = _written(tmp_path, "\n".join(lines).encode())
    assert [(step.step, step.step_time_s, step.loss, step.timed_over) for step in log.steps] == [
        (0, 15.0, 0.0, 2), (1, 15.0, 0.5, 2), (2, 15.5, 1.0, 2), (3, 15.5, 1.5, 2),
        (4, 16.0, 2.0, 2), (5, 16.0, 2.5, 2),
    ]  # fmt: skip


def test_a_failed_jobs_tail_is_counted_once(tmp_path: Path) -> None:
    text = b"\n".join(_lines(3))
    tail = b"\nStatus message: last available logs (truncated to 20,000 chars):\n" + text[len(text) // 3 :]
    log = _written(tmp_path, text + tail)
    assert [step.step for step in log.steps] == [0, 1, 2]
    assert log.problems == ()


def test_a_second_run_in_one_log_is_named_and_kept_apart(tmp_path: Path) -> None:
    second = [line.replace(b"14.5", b"19.5").replace(b"10-11", b"10-12") for line in _lines(2)]
    log = _written(tmp_path, b"\n".join(_lines(3) + second))
    assert [[step.step for step in attempt] for attempt in log.attempts] == [[0, 1, 2], [0, 1]]
    assert [(problem.rule, problem.place.line) for problem in log.problems] == [("steps-restarted", 7)]


def test_a_record_cut_in_the_middle_is_a_problem_at_its_line(tmp_path: Path) -> None:
    lines = _lines(3)
    lines[3] = lines[3][:150]
    log = _written(tmp_path, b"\n".join(lines))
    assert [(step.step, step.step_time_s is None) for step in log.steps] == [(0, False), (1, True), (2, False)]
    told = [(problem.rule, problem.place.line) for problem in log.problems]
    assert told == [("value-absent", 3), ("record-unreadable", 4)]


def test_a_last_line_without_its_end_is_only_a_warning(tmp_path: Path) -> None:
    log = _written(tmp_path, b"\n".join(_lines(3))[:-30])
    assert [(step.step, step.step_time_s is None) for step in log.steps] == [(0, False), (1, False), (2, True)]
    assert [problem.rule for problem in log.problems] == ["value-absent", "log-truncated"]
    assert {problem.severity for problem in log.problems} == {"warning"}


def test_two_writers_inside_one_record_give_no_figure(tmp_path: Path) -> None:
    lines = _lines(2)
    lines[3] = lines[3].replace(b"14.875", b"14.[Rank 7] memory875")
    log = _written(tmp_path, b"\n".join(lines))
    assert [(step.step, step.step_time_s) for step in log.steps] == [(0, 14.75), (1, None)]
    assert ("record-unreadable", 4) in [(problem.rule, problem.place.line) for problem in log.problems]


def test_gzip_and_plain_read_the_same(tmp_path: Path) -> None:
    (tmp_path / "x.log.gz").write_bytes(gzip.compress(b"\n".join(_lines(3))))
    assert [step.step_time_s for step in read_log([tmp_path / "x.log.gz"]).steps] == [14.75, 14.875, 15.0]


def test_a_record_whose_values_were_deduplicated_away_is_a_problem(tmp_path: Path) -> None:
    lines = _lines(3)
    lines[3] = b"(Actor pid=9) [2026-10-11 10:01:20] x.py:50 - perf 1: [repeated 7x across cluster]"
    log = _written(tmp_path, b"\n".join(lines) + b"\n(Actor pid=9)\x1b[32m [repeated 3x across cluster]\x1b[0m\n")
    assert [(step.step, step.step_time_s) for step in log.steps] == [(0, 14.75), (1, None), (2, 15.0)]
    told = [(problem.rule, problem.place.line) for problem in log.problems]
    assert told == [("value-absent", 3), ("record-unreadable", 4)]


def test_two_records_on_one_line_are_two(tmp_path: Path) -> None:
    log = _written(tmp_path, b" ".join(_lines(3)) + b"\n")
    assert [(step.step, step.step_time_s) for step in log.steps] == [(0, 14.75), (1, 14.875), (2, 15.0)]


def test_other_models_and_other_kinds_of_record_are_no_steps(tmp_path: Path) -> None:
    noise = [
        b"critic-step 1: {'train/critic-loss': 9.5, 'train/step': 1}",
        b"eval 1: {'eval/loss': 9.5}",
        b"perf 1: {'perf/rollout_time': 9.5, 'rollout/response_len/mean': 3.0}",
        b"rollout 1: {'rollout/total_lengths': 8192.0}",
        b'    logger.info(f"step {step}: {log_dict}")',
    ]
    log = _written(tmp_path, b"\n".join([*noise, *_lines(2), *noise]) + b"\n")
    assert [(step.step, step.loss) for step in log.steps] == [(0, 1.21), (1, 1.21 - 1 / 64)]
    assert log.problems == ()
