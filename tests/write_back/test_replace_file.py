"""A file is replaced whole or not at all, whoever ends the writer and whoever else writes."""

import fcntl
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from openrecipes.problems import OutsideError, ProblemsError, UsageError
from openrecipes.write_back import replace_file as module
from openrecipes.write_back.replace_file import replace_file

WRITER = Path(__file__).parent / "stopped_writer.py"
OLD, NEW = "old: 1\n" * 500, "new: 2\n" * 700


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "recipe.yaml"
    path.parent.mkdir()
    path.write_text(OLD)
    return path


def left_over(path: Path) -> list[str]:
    return sorted(other.name for other in path.parent.iterdir() if other != path)


def test_the_new_text_takes_the_place_of_the_old(recipe: Path) -> None:
    replace_file(recipe, OLD, NEW)
    assert recipe.read_text() == NEW
    assert left_over(recipe) == []


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o755])
def test_the_mode_stays(recipe: Path, mode: int) -> None:
    recipe.chmod(mode)
    replace_file(recipe, OLD, NEW)
    assert stat.S_IMODE(recipe.stat().st_mode) == mode


def test_a_link_stays_a_link_and_its_file_is_replaced(recipe: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    link = folder / "link.yaml"
    link.symlink_to(Path("..") / "folder" / "recipe.yaml")
    replace_file(link, OLD, NEW)
    assert link.is_symlink()
    assert recipe.read_text() == NEW
    assert [path.name for path in folder.iterdir()] == ["link.yaml"]


@pytest.mark.parametrize("change", [lambda path: path.write_text(OLD + "# mine\n"), lambda path: path.write_text("")])
def test_a_change_since_reading_is_never_written_over(recipe: Path, change: Callable[[Path], object]) -> None:
    change(recipe)
    theirs = recipe.read_text()
    with pytest.raises(ProblemsError) as refusal:
        replace_file(recipe, OLD, NEW)
    assert [problem.rule for problem in refusal.value.problems] == ["write-changed-meanwhile"]
    assert recipe.read_text() == theirs
    assert left_over(recipe) == []


def test_a_file_that_is_gone_is_no_traceback(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not there any more"):
        replace_file(tmp_path / "none.yaml", OLD, NEW)


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(UsageError) as refusal:
            replace_file(path, OLD, NEW)
        assert [problem.rule for problem in refusal.value.problems] == ["write-refused"]


# Everything between the first byte and the end, in the order in which it is called.
STAGES = ["flock", "mkstemp", "fdopen", "fchmod", "fsync", "read_bytes", "replace", "fsync again"]


def write_in_another_process(recipe: Path, *words: str) -> int:
    (recipe.parent.parent / "new.txt").write_text(NEW)
    command = [sys.executable, str(WRITER), str(recipe), str(recipe.parent.parent / "new.txt"), *words]
    return subprocess.run(command, check=False, timeout=60).returncode


@pytest.mark.parametrize("stage", STAGES)
def test_a_writer_killed_at_any_point_leaves_the_old_file_or_the_new(recipe: Path, stage: str) -> None:
    assert write_in_another_process(recipe, stage, "kill") == -9
    assert recipe.read_text() == (NEW if stage == "fsync again" else OLD)
    if stage != "fsync again":
        replace_file(recipe, OLD, NEW)  # the next writer takes away what the killed one left
    assert recipe.read_text() == NEW
    assert left_over(recipe) == []


@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupted_writer_leaves_nothing_behind(recipe: Path, stage: str) -> None:
    assert write_in_another_process(recipe, stage, "interrupt") == 7
    assert recipe.read_text() == (NEW if stage == "fsync again" else OLD)
    assert left_over(recipe) == []


def test_a_writer_that_nobody_stops_ends_well(recipe: Path) -> None:
    assert write_in_another_process(recipe, "nowhere", "kill") == 0
    assert recipe.read_text() == NEW


def test_a_full_disk_leaves_the_old_file(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(OutsideError, match="No space left on device"):
        replace_file(recipe, OLD, NEW)
    assert recipe.read_text() == OLD
    assert left_over(recipe) == []


def test_two_writers_take_turns(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOCK_WAIT_S", 0.05)
    other = os.open(recipe.parent, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(OutsideError) as refusal:
        replace_file(recipe, OLD, NEW)
    assert [problem.rule for problem in refusal.value.problems] == ["write-locked"]
    assert recipe.read_text() == OLD
    os.close(other)
    replace_file(recipe, OLD, NEW)
    assert recipe.read_text() == NEW


def test_no_write_of_many_writers_is_lost(recipe: Path) -> None:
    recipe.write_text("0\n")
    command = [sys.executable, str(WRITER), str(recipe), "10"]
    writers = [subprocess.Popen(command) for _ in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert recipe.read_text() == "30\n"
    assert left_over(recipe) == []
