"""Files are there whole or not at all."""

import errno
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from openrecipes.problems import ProblemsError, UsageError
from openrecipes.rows.whole_file import written_whole


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_name_appears_with_the_last_byte(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with written_whole(path, replace=False) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
        file.write(b" and half")
    assert path.read_bytes() == b"half and half"
    assert names_in(tmp_path) == ["out"]


def test_nothing_is_left_when_the_writer_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), written_whole(tmp_path / "out", replace=False) as file:  # noqa: PT012
        file.write(b"half")
        raise RuntimeError
    assert names_in(tmp_path) == []


def test_an_existing_file_is_kept_unless_it_may_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with pytest.raises(ProblemsError), written_whole(path, replace=False):
        pytest.fail("the block must not run")
    with pytest.raises(RuntimeError), written_whole(path, replace=True) as file:  # noqa: PT012
        file.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"old"
    with written_whole(path, replace=True) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"


def test_a_file_that_came_to_be_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(ProblemsError), written_whole(path, replace=False) as file:  # noqa: PT012
        file.write(b"mine")
        path.write_bytes(b"theirs")
    assert path.read_bytes() == b"theirs"


def test_a_second_builder_of_the_same_file_is_refused(tmp_path: Path) -> None:
    with written_whole(tmp_path / "out", replace=False):
        with pytest.raises(ProblemsError) as caught, written_whole(tmp_path / "out", replace=False):
            pytest.fail("the block must not run")
        assert caught.value.problems[0].rule == "output-locked"


def _half(path: Path) -> None:
    with written_whole(path, replace=False) as file:
        file.write(b"half")
        file.flush()
        time.sleep(60)


def test_a_killed_builder_leaves_nothing_that_is_taken_for_whole(tmp_path: Path) -> None:
    builder = multiprocessing.get_context("spawn").Process(target=_half, args=(tmp_path / "out",))
    builder.start()
    for _ in range(200):
        if (tmp_path / ".out.partial").exists() and (tmp_path / ".out.partial").stat().st_size:
            break
        time.sleep(0.05)
    assert builder.pid is not None
    os.kill(builder.pid, signal.SIGKILL)
    builder.join()
    assert names_in(tmp_path) == [".out.partial"]
    with written_whole(tmp_path / "out", replace=False) as file:
        file.write(b"whole")
    assert names_in(tmp_path) == ["out"]
    assert (tmp_path / "out").read_bytes() == b"whole"


def test_a_folder_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError), written_whole(tmp_path / "none" / "out", replace=False):
        pytest.fail("the block must not run")


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / ".out.partial").symlink_to(tmp_path / "precious")
    with pytest.raises(UsageError), written_whole(tmp_path / "out", replace=False):
        pytest.fail("the block must not run")
    assert (tmp_path / "precious").read_bytes() == b"precious"


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ProblemsError) as caught, written_whole(tmp_path / "out", replace=False) as file:
        file.write(b"x")
    assert caught.value.problems[0].rule == "output-written"
    assert "No space left" in caught.value.problems[0].what
    assert names_in(tmp_path) == []
