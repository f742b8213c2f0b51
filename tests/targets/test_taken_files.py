"""Of what a pod hands over, only the run's own regular files are taken."""

import io
import tarfile
from pathlib import Path

import pytest

from openrecipes.problems import OutsideError
from openrecipes.targets.taken_files import copy, unpack


def _tar(*members: tuple[str, bytes | None]) -> io.BytesIO:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if content is None:
                member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    packed.seek(0)
    return packed


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def test_the_runs_own_files_are_taken_and_nothing_else(tmp_path: Path) -> None:
    given = {
        "./job.json": b"{}",
        "./telemetry/n1.jsonl": b"x",
        "log/ray-n1.log": b"x",
        "log/train.log": b"brought by itself",
        "run.json": b"forged",
        "rendered/launch.sh": b"forged",
        "../outside": b"x",
        "log/../../outside": b"x",
        "/tmp/outside": b"x",
        "telemetry/.hidden": b"x",
        "preflight": b"a file where a folder is",
    }
    root = tmp_path / "run"
    root.mkdir()
    unpack(_tar(*given.items(), ("log/link", None)), root)
    assert _files(tmp_path) == {"run/job.json", "run/telemetry/n1.jsonl", "run/log/ray-n1.log"}


def test_a_tar_that_is_cut_off_is_no_collection(tmp_path: Path) -> None:
    whole = _tar(("telemetry/n1.jsonl", b"x" * 10_000)).getvalue()
    with pytest.raises(OutsideError, match="tar that cannot be read"):
        unpack(io.BytesIO(whole[:5000]), tmp_path)
    assert _files(tmp_path) <= {"telemetry/.n1.jsonl.part"}


def test_a_folder_gives_the_same_and_follows_no_link(tmp_path: Path) -> None:
    source, root = tmp_path / "far", tmp_path / "here"
    (source / "telemetry").mkdir(parents=True)
    (source / "telemetry" / "n1.jsonl").write_text("x")
    (source / "run.json").write_text("forged")
    (source / "log").symlink_to("/etc")
    root.mkdir()
    copy(source, root)
    assert _files(root) == {"telemetry/n1.jsonl"}
