"""Records of a second format are left out of a run's steps, and never in silence."""

import itertools
from pathlib import Path

import pytest
from log_emitters import EMITTERS

from openrecipes.logs.run_log import RunLog, read_log

NOISE = [b"the dataloader has nothing new to say, and says it at some length, again and again"] * 40


def written(path: Path, *parts: list[bytes]) -> Path:
    path.write_bytes(b"".join(line + b"\n" for part in parts for line in part))
    return path


def told(log: RunLog) -> list[tuple[str, int | None, str]]:
    """File, line and words of what is told of other formats."""
    found = [problem for problem in log.problems if problem.rule == "other-format"]
    assert all(problem.severity == "warning" for problem in found)
    return [(problem.place.file, problem.place.line, problem.what) for problem in found]


PAIRS = [
    (one, other)
    for one, other in itertools.permutations(sorted(EMITTERS), 2)
    if {EMITTERS[one].format, EMITTERS[other].format}
    not in ({"bridge", "megatron"}, {EMITTERS[one].format}, {"nemo", "mllog"})
]


def test_a_file_in_another_format_is_told_at_its_first_record(tmp_path: Path) -> None:
    assert len(PAIRS) > 100
    for one, other in PAIRS:
        first = written(tmp_path / "first.log", EMITTERS[one].run(9))
        second = written(tmp_path / "second.log", NOISE[:3], EMITTERS[other].run(3))
        log = read_log([first, second])
        if log.format != EMITTERS[one].format:
            continue  # of steps without a time, fewer timed ones win
        ((file, line, what),) = told(log)
        assert file == str(second), (one, other)
        assert line is not None
        assert line > 3
        assert f" in the format {EMITTERS[other].format} " in what
        assert what.endswith(f"the run's steps are in the format {log.format}")


@pytest.mark.parametrize("order", [1, -1])
def test_one_file_of_two_runs_tells_those_that_are_not_counted(tmp_path: Path, order: int) -> None:
    parts = [EMITTERS["slime"].run(9), EMITTERS["verl"].run(4)][::order]
    log = read_log([written(tmp_path / "mixed.log", *parts)])
    assert (log.format, len(log.steps)) == ("slime", 9)
    ((_, line, what),) = told(log)
    assert line == (len(parts[0]) + 1 if order == 1 else 1)
    assert what.startswith("4 records in the format verl are not counted")


@pytest.mark.parametrize("name", sorted(EMITTERS))
def test_the_log_of_one_trainer_has_none(tmp_path: Path, name: str) -> None:
    lines = EMITTERS[name].run(12)
    assert told(read_log([written(tmp_path / "x.log", lines)])) == []
    # Beyond the first mebibyte only one format is read.
    spread = [line for each in lines for line in (each, *NOISE * 30)]
    assert told(read_log([written(tmp_path / "x.log", spread)])) == []


def test_the_same_steps_in_other_words_between_them_are_not_a_second_run(tmp_path: Path) -> None:
    mixed = [line for i in range(6) for name in ("slime", "verl") for line in map(str.encode, EMITTERS[name].lines(i))]
    numbers = [
        [step.step for step in read_log([written(tmp_path / "x.log", EMITTERS[n].run(6))]).steps]
        for n in ("slime", "verl")
    ]
    log = read_log([written(tmp_path / "mixed.log", mixed)])
    left = set(numbers[1]) - set(numbers[0])
    assert [what.split(" ")[0] for _, _, what in told(log)] == ([str(len(left))] if left else [])


def test_a_second_run_at_the_end_of_a_long_log_is_told_though_one_format_is_read_there(tmp_path: Path) -> None:
    slime = [line for each in EMITTERS["slime"].run(12) for line in (each, *NOISE * 30)]
    log = read_log([written(tmp_path / "long.log", slime, EMITTERS["megatron"].run(5))])
    assert (tmp_path / "long.log").stat().st_size > 2**20
    assert (log.format, len(log.steps)) == ("slime", 12)
    assert told(log) == [
        (
            str(tmp_path / "long.log"),
            len(slime) + 1,
            "5 records in the format megatron are not counted: the run's steps are in the format slime",
        )
    ]


def test_a_named_format_reads_that_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "mixed.log", EMITTERS["slime"].run(9), EMITTERS["verl"].run(4))
    log = read_log([path], format="verl")
    assert (log.format, len(log.steps), told(log)) == ("verl", 4, [])
