"""A log is read from wherever it lies, and its damage is named."""

import bz2
import gzip
import importlib.util
import io
import lzma
import sys
from pathlib import Path

import pytest
from log_emitters import EMITTERS

from openrecipes.logs.run_log import read_log
from openrecipes.logs.sources import log_files
from openrecipes.problems import UsageError

TEXT = b"\n".join(EMITTERS["slime"].run(5)) + b"\n"
NUMBERS = [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("name", "packed"),
    [("x.log.gz", gzip.compress), ("x.log.bz2", bz2.compress), ("x.log.xz", lzma.compress), ("x", gzip.compress)],
)
def test_compressed_files_are_known_by_their_first_bytes(name: str, packed: object, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(packed(TEXT))  # type: ignore[operator]
    assert [step.step for step in read_log([tmp_path / name]).steps] == NUMBERS


def test_gzip_members_one_after_another_are_one_log(tmp_path: Path) -> None:
    half = TEXT.index(b"\n", len(TEXT) // 2) + 1
    (tmp_path / "x.gz").write_bytes(gzip.compress(TEXT[:half]) + gzip.compress(TEXT[half:]))
    assert [step.step for step in read_log([tmp_path / "x.gz"]).steps] == NUMBERS


def test_a_cut_gzip_file_gives_what_it_holds_and_says_so(tmp_path: Path) -> None:
    noise = b"".join(b"%d noise\n" % (i * i) for i in range(20000))
    (tmp_path / "x.gz").write_bytes(gzip.compress(TEXT + noise)[:-500])
    log = read_log([tmp_path / "x.gz"])
    assert [step.step for step in log.steps] == NUMBERS
    assert [(problem.rule, problem.severity) for problem in log.problems] == [("log-damaged", "warning")]


def test_zstd_is_read_or_refused_by_name(tmp_path: Path) -> None:
    # One frame of one raw block, so that no compressor is needed to make it.
    frame = b"\x28\xb5\x2f\xfd\x00\x58" + ((len(TEXT) << 3) | 1).to_bytes(3, "little") + TEXT
    (tmp_path / "x.zst").write_bytes(frame)
    if any(importlib.util.find_spec(name) for name in ("zstandard", "compression")):
        assert [step.step for step in read_log([tmp_path / "x.zst"]).steps] == NUMBERS
    else:
        with pytest.raises(UsageError, match="zstd"):
            read_log([tmp_path / "x.zst"])


def test_standard_input_is_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(TEXT))))  # type: ignore[arg-type]
    log = read_log(["-"])
    assert [step.step for step in log.steps] == NUMBERS
    assert {step.file for step in log.steps} == {"-"}


def test_a_directory_is_all_its_logs_in_natural_order(tmp_path: Path) -> None:
    for name in ("rank10.log", "rank9.log", "notes.md", "weights.pt", ".hidden.log", "sub/rank1.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(TEXT if "rank9" in name else b"noise\n")
    assert [Path(file).name for file in log_files([tmp_path])] == ["rank9.log", "rank10.log", "rank1.log"]
    assert [step.step for step in read_log([tmp_path]).steps] == NUMBERS


def test_a_run_directory_is_its_raw_log(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "train.log").write_bytes(TEXT)
    (tmp_path / "rendered.log").write_bytes(b"\n".join(EMITTERS["megatron"].run(3)))
    log = read_log([tmp_path])
    assert (log.format, [step.step for step in log.steps]) == ("slime", NUMBERS)


@pytest.mark.parametrize("name", ["none.log", "empty"])
def test_what_is_no_log_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError) as raised:
        read_log([tmp_path / name])
    assert raised.value.problems[0].place.file == str(tmp_path / name)


def test_an_unknown_format_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean megatron"):
        read_log(["x.log"], format="megatronn")
