"""One run's steps from many ranks, files and attempts."""

from pathlib import Path

from log_emitters import EMITTERS

from openrecipes.logs.run_log import RunLog, read_log

MEGATRON = EMITTERS["megatron"]


def _read(tmp_path: Path, **files: bytes) -> RunLog:
    for name, text in files.items():
        (tmp_path / f"{name}.log").write_bytes(text)
    return read_log([tmp_path])


def _prefixed(lines: list[bytes], prefix: bytes) -> list[bytes]:
    return [prefix + line for line in lines]


def test_ranks_that_print_the_same_line_are_counted_once(tmp_path: Path) -> None:
    lines = [prefix + line for line in MEGATRON.run(4) for prefix in (b"0: ", b"1: ", b"2: ")]
    log = _read(tmp_path, all=b"\n".join(lines))
    assert [step.step for step in log.steps] == [1, 2, 3, 4]
    assert log.problems == ()


def test_ranks_with_times_of_their_own_are_one_rank_and_a_warning(tmp_path: Path) -> None:
    mine, other = (
        MEGATRON.run(4),
        [line.replace(b"(ms): 1", b"(ms): 2").replace(b"lm loss: 1", b"lm loss: 3") for line in MEGATRON.run(4)],
    )
    lines = [line for pair in zip(_prefixed(mine, b"0: "), _prefixed(other, b"1: "), strict=True) for line in pair]
    log = _read(tmp_path, all=b"\n".join(lines))
    assert [(step.step, step.step_time_s) for step in log.steps] == [(1, 14.75), (2, 14.875), (3, 15.0), (4, 15.125)]
    assert [(problem.rule, problem.severity) for problem in log.problems] == [("rank-copies", "warning")]


def test_one_file_a_rank_is_one_run(tmp_path: Path) -> None:
    text = b"\n".join(MEGATRON.run(4)) + b"\n"
    log = _read(tmp_path, rank0=b"only noise\n", rank6=text, rank7=text)
    assert [step.step for step in log.steps] == [1, 2, 3, 4]
    assert len(log.attempts) == 1


def test_a_log_in_two_files_is_one_run_in_order(tmp_path: Path) -> None:
    lines = MEGATRON.run(6)
    log = _read(tmp_path, b_first=b"\n".join(lines[:3]) + b"\n", a_second=b"\n".join(lines[3:]) + b"\n")
    assert [step.step for step in log.steps] == [1, 2, 3, 4, 5, 6]
    assert log.problems == ()


def test_a_retry_in_its_own_file_is_an_attempt(tmp_path: Path) -> None:
    retry = [
        line.replace(b"2026-02-14", b"2026-02-15").replace(b"grad norm: 2.3", b"grad norm: 2.4")
        for line in MEGATRON.run(5)
    ]
    log = _read(tmp_path, try1=b"\n".join(MEGATRON.run(4)) + b"\n", try2=b"\n".join(retry[2:]) + b"\n")
    assert [[step.step for step in attempt] for attempt in log.attempts] == [[1, 2, 3, 4], [3, 4, 5]]
    assert [problem.rule for problem in log.problems] == ["steps-restarted"]


def test_a_log_newest_line_first_is_turned_round(tmp_path: Path) -> None:
    log = _read(tmp_path, all=b"\n".join(reversed(MEGATRON.run(5))) + b"\n")
    assert [step.step for step in log.steps] == [1, 2, 3, 4, 5]
    assert [problem.rule for problem in log.problems] == ["log-reversed"]


def test_a_clock_that_goes_back_is_named_at_its_line(tmp_path: Path) -> None:
    lines = MEGATRON.run(4)
    lines[2] = lines[2].replace(b"10:02:20", b"09:02:20")
    log = _read(tmp_path, all=b"\n".join(lines) + b"\n")
    assert [step.step for step in log.steps] == [1, 2, 3, 4]
    assert [(problem.rule, problem.place.line) for problem in log.problems] == [("clock-backwards", 3)]


def test_a_log_interval_is_seen_from_the_numbers_and_from_the_arguments(tmp_path: Path) -> None:
    every = [line for i, line in enumerate(MEGATRON.run(40), 1) if i % 10 == 0]
    seen = _read(tmp_path, all=b"\n".join(every) + b"\n")
    assert [(step.step, step.interval) for step in seen.steps] == [(10, 10), (20, 10), (30, 10), (40, 10)]
    value = b"  log_interval .................................... 5\n"
    dump = b"--------- arguments ----------\n" + value + b"---- end of arguments ----\n"
    some = [line for i, line in enumerate(MEGATRON.run(40), 1) if i in (5, 10, 30)]
    declared = _read(tmp_path, all=dump + b"\n".join(some) + b"\n")
    assert [(step.step, step.interval) for step in declared.steps] == [(5, 5), (10, 5), (30, 5)]
    assert [problem.rule for problem in declared.problems] == ["steps-missing"]


def test_the_first_step_besides_the_multiples_stands_for_itself(tmp_path: Path) -> None:
    some = [line for i, line in enumerate(MEGATRON.run(40), 1) if i in (1, 10, 20, 30)]
    log = _read(tmp_path, all=b"\n".join(some) + b"\n")
    assert [(step.step, step.interval) for step in log.steps] == [(1, 1), (10, 9), (20, 10), (30, 10)]
    assert log.problems == ()
