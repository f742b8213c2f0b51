"""Of what a pod or a host hands over, only the run's own regular files are taken, whatever the archive says."""

import contextlib
import io
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.targets import taken_files
from openrecipes.targets.taken_files import CannotTakeError, copy, of_a_run, of_host, of_ray, unpack

LINKS = {"sym": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE}
DEVICES = {"character": tarfile.CHRTYPE, "block": tarfile.BLKTYPE, "fifo": tarfile.FIFOTYPE}


def _tar(*members: tuple[str, bytes | str], form: int = tarfile.GNU_FORMAT) -> io.BytesIO:
    """Regular files with their bytes; a link or a device by its kind."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=form) as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = {**LINKS, **DEVICES}[content], "/etc/passwd"
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    packed.seek(0)
    return packed


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


GIVEN = {
    "./job.json": b"{}",
    "./telemetry/n1.jsonl": b"x",
    "log/ray-n1.log": b"x",
    "log/exit-0": b"0",
    "log/exit-3": b"0",
    "environment.json": b"{}",
    "preflight/n1.json": b"{}",
    "log/train.log": b"brought by itself",
    "log/arrivals.jsonl": b"of the launch",
    "run.json": b"forged",
    "rendered/launch.sh": b"forged",
    "../outside": b"x",
    "log/../../outside": b"x",
    "/tmp/outside": b"x",
    "telemetry/.hidden": b"x",
    "telemetry/a\nb": b"x",
    "preflight": b"a file where a folder is",
}
ODD = [(f"log/{kind}", kind) for kind in (*LINKS, *DEVICES)]


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (
            of_a_run,
            "job.json environment.json telemetry/n1.jsonl log/ray-n1.log log/exit-0 log/exit-3 preflight/n1.json "
            "log/arrivals.jsonl",
        ),
        (of_host(0), "environment.json telemetry/n1.jsonl log/ray-n1.log log/exit-0 preflight/n1.json"),
        (of_host(3), "telemetry/n1.jsonl log/ray-n1.log log/exit-3"),
        (of_ray, ""),
    ],
)
def test_the_runs_own_files_are_taken_and_nothing_else(
    tmp_path: Path, wanted: taken_files.Wanted, names: str, form: int
) -> None:
    root = tmp_path / "run"
    root.mkdir()
    unpack(_tar(*GIVEN.items(), *ODD, form=form), root, wanted)
    assert _files(tmp_path) == {f"run/{name}" for name in names.split()}
    assert all(not path.is_symlink() for path in root.rglob("*"))


def test_long_names_and_what_gnu_tar_packs_come_whole(tmp_path: Path) -> None:
    far, root = tmp_path / "far", tmp_path / "run"
    name = f"log/ray/n1/{'session' * 15}/{'a' * 120}.log"
    (far / name).parent.mkdir(parents=True)
    (far / name).write_text("x")
    packed = subprocess.run(["tar", "-C", str(far), "-cf", "-", "log"], capture_output=True, check=True).stdout
    root.mkdir()
    unpack(io.BytesIO(packed), root)
    assert _files(root) == {name}


def _cut_in_a_file(whole: bytes) -> bytes:
    return whole[:5000]


def _cut_between_files(whole: bytes) -> bytes:
    return whole[: whole.index(b"log/last") // 512 * 512]


def _broken_header(whole: bytes) -> bytes:
    at = whole.index(b"log/last")
    return whole[:at] + b"LOG" + whole[at + 3 :]


def _endless_header(whole: bytes) -> bytes:
    member = tarfile.TarInfo("././@LongLink")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 20 * 2**20
    return member.tobuf(tarfile.GNU_FORMAT) + bytes(20 * 2**20) + whole


def _chain_of_headers(whole: bytes) -> bytes:
    member = tarfile.TarInfo("././@LongLink")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 1
    return (member.tobuf(tarfile.GNU_FORMAT) + b"a" + bytes(511)) * 3000 + whole


def _larger_than_any(whole: bytes) -> bytes:
    member = tarfile.TarInfo("telemetry/n1.jsonl")
    member.size = 2**40
    return member.tobuf(tarfile.GNU_FORMAT) + whole


def _a_file_where_a_folder_must_be(_whole: bytes) -> bytes:
    return _tar(("log/a", b"x"), ("log/a/b", b"x")).getvalue()


def _no_bytes(_whole: bytes) -> bytes:
    return b""


@pytest.mark.parametrize(
    "change",
    [
        _cut_in_a_file,
        _cut_between_files,
        _broken_header,
        _endless_header,
        _chain_of_headers,
        _larger_than_any,
        _a_file_where_a_folder_must_be,
        _no_bytes,
    ],
)
def test_a_tar_that_is_cut_off_or_hostile_is_no_collection(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    whole = _tar(("telemetry/n1.jsonl", b"x" * 10_000), ("log/last", b"y")).getvalue()
    with pytest.raises(CannotTakeError):
        unpack(io.BytesIO(change(whole)), tmp_path)
    assert not [path for path in tmp_path.rglob("*.jsonl") if path.stat().st_size not in (0, 10_000)]


@given(at=st.integers(0, 4095), byte=st.integers(0, 255), cut=st.integers(1, 4096))
def test_no_broken_archive_raises_anything_else_or_writes_elsewhere(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: int, cut: int
) -> None:
    base = tmp_path_factory.mktemp("base")
    (base / "run").mkdir()
    long_name = f"log/{'a' * 120}"
    whole = _tar((long_name, b"x"), ("job.json", b"{}"), form=tarfile.PAX_FORMAT).getvalue()
    broken = (whole[:at] + bytes([byte]) + whole[at + 1 :])[:cut]
    with contextlib.suppress(CannotTakeError):
        unpack(io.BytesIO(broken), base / "run")
    assert {path.parts[0] for path in (p.relative_to(base) for p in base.rglob("*"))} == {"run"}
    assert all(of_a_run(taken_files.PurePosixPath(name)) or ".part" in name for name in _files(base / "run"))


def test_a_folder_gives_the_same_and_follows_no_link(tmp_path: Path) -> None:
    source, root = tmp_path / "far", tmp_path / "here"
    (source / "telemetry").mkdir(parents=True)
    (source / "telemetry" / "n1.jsonl").write_text("x")
    (source / "run.json").write_text("forged")
    (source / "log").symlink_to("/etc")
    root.mkdir()
    copy(source, root)
    assert _files(root) == {"telemetry/n1.jsonl"}


def test_it_runs_by_itself_as_it_is_launched(tmp_path: Path) -> None:
    program, root = tmp_path / "taken_files.py", tmp_path / "run"
    program.write_text(taken_files.source_text())
    root.mkdir()
    call = [sys.executable, "-I", str(program), str(root), "--host", "3"]
    whole = _tar(("log/exit-3", b"7\n"), ("log/exit-0", b"0\n")).getvalue()
    assert subprocess.run(call, input=whole, check=True, capture_output=True).stderr == b""
    assert _files(root) == {"log/exit-3"}
    cut = subprocess.run(call, input=whole[:600], check=False, capture_output=True, text=False)
    assert (cut.returncode, cut.stderr[:40]) == (1, b"openrecipes: what came back was a tar th")
