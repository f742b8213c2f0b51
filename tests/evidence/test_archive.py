import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_bundles import archive_of

from openrecipes.evidence import archive
from openrecipes.evidence.archive import is_name, read_archive, write_archive
from openrecipes.problems import UsageError


def _read(folder: Path, data: bytes) -> tuple[list[str], list[tuple[str, str]]]:
    """Names that were read, rule and name of what was refused; nothing may lie outside of `into`."""
    file, into = folder / "b.tar.gz", folder / "deep" / "into"
    file.write_bytes(data)
    into.mkdir(parents=True)
    found = read_archive(file, into)
    written = {path for path in folder.rglob("*") if path.is_file() or path.is_symlink()} - {file}
    assert all(path.is_relative_to(into) and not path.is_symlink() for path in written)
    assert len(found.members) <= len(written)
    return [member.name for member in found.members], [(one.rule, one.place.key) for one in found.problems]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    contents = {"a.json": b"{}", "run-1/log/train.log": b"x" * 70_000, "run-1/empty": b""}
    for name, content in contents.items():
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_bytes(content)
    write_archive(tmp_path / "b.tar.gz", {name: tmp_path / "src" / name for name in contents})
    into = tmp_path / "into"
    into.mkdir()
    found = read_archive(tmp_path / "b.tar.gz", into)
    assert found.problems == ()
    assert {member.name: (into / member.name).read_bytes() for member in found.members} == contents


BAD_NAMES = [
    "../x",
    "/etc/passwd",
    "a/../../x",
    "./x",
    "a//b",
    "a/./b",
    "..",
    "a\\..\\b",
    "a b",
    "ü",
    "~/x",
    "a/" + "b" * 99,
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_leaves_the_folder_or_is_odd_is_refused_by_name(tmp_path: Path, name: str) -> None:
    names, refused = _read(tmp_path, archive_of({"good": b"1", name: b"2"}))
    assert names == ["good"]
    assert [rule for rule, _ in refused] == ["bundle-path"]
    assert refused[0][1] == name


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE]
)
def test_only_plain_files_are_let_in(tmp_path: Path, kind: bytes) -> None:
    def add(out: tarfile.TarFile) -> None:
        entry = tarfile.TarInfo("odd")
        entry.type, entry.linkname = kind, "/etc/passwd"
        out.addfile(entry)

    names, refused = _read(tmp_path, archive_of({"good": b"1"}, add))
    assert names == ["good"]
    assert [(rule, name.rstrip("/")) for rule, name in refused] == [("bundle-member", "odd")]


@pytest.mark.parametrize("second", ["same", "Same"])
def test_a_name_may_stand_only_once_in_whatever_case(tmp_path: Path, second: str) -> None:
    def add(out: tarfile.TarFile) -> None:
        entry = tarfile.TarInfo(second)
        entry.size = 1
        out.addfile(entry, io.BytesIO(b"2"))

    names, refused = _read(tmp_path, archive_of({"same": b"1"}, add))
    assert names == ["same"]
    assert refused == [("bundle-duplicate", second)]


def test_a_file_that_would_be_a_folder_is_refused(tmp_path: Path) -> None:
    names, refused = _read(tmp_path, archive_of({"a": b"1", "a/b": b"2"}))
    assert names == ["a"]
    assert refused == [("bundle-member", "a/b")]


def _truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (_truncated, "bundle-damaged"),
        (lambda data: b"", "bundle-damaged"),
        (lambda data: b"PK\x03\x04" + data, "bundle-damaged"),
        (gzip.decompress, "bundle-damaged"),
        (lambda data: data + b"more", "bundle-trailing"),
        (lambda data: data + data, "bundle-trailing"),
        (lambda data: gzip.compress(gzip.decompress(data) + b"more" * 200), "bundle-trailing"),
        (lambda data: gzip.compress(b"\x01" * 2048), "bundle-damaged"),
        (lambda data: gzip.compress(gzip.decompress(data)[:512]), "bundle-damaged"),
    ],
)
def test_what_is_cut_off_or_goes_on_is_refused(tmp_path: Path, change: Callable[[bytes], bytes], rule: str) -> None:
    _, refused = _read(tmp_path, change(archive_of({"a": b"1" * 5000})))
    assert [found for found, _ in refused] == [rule]


@pytest.mark.parametrize(("place", "words"), [(0, "is no gzip file"), (40, "compressed data is damaged")])
def test_a_changed_byte_is_not_taken_for_another_kind_of_file(tmp_path: Path, place: int, words: str) -> None:
    data = bytearray(archive_of({"a": bytes(range(256)) * 20}))
    data[place] ^= 0xFF
    (tmp_path / "changed.tar.gz").write_bytes(data)
    (tmp_path / "into").mkdir()
    found = read_archive(tmp_path / "changed.tar.gz", tmp_path / "into")
    assert any(words in problem.what for problem in found.problems), found.problems


def test_a_bomb_is_refused_long_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_RATIO_FROM", 2**20)
    data = archive_of({"run-1/log/train.log": bytes(40 * 2**20)})
    _, refused = _read(tmp_path, data)
    assert refused == [("bundle-size", "run-1/log/train.log")]
    assert sum(path.stat().st_size for path in (tmp_path / "deep").rglob("*") if path.is_file()) < 16 * 2**20


def test_a_size_beyond_all_bundles_is_refused_before_it_is_read(tmp_path: Path) -> None:
    def add(out: tarfile.TarFile) -> None:
        entry = tarfile.TarInfo("huge")
        entry.size = 8**11 - 1
        out.fileobj.write(entry.tobuf(tarfile.USTAR_FORMAT))  # type: ignore[union-attr]

    _, refused = _read(tmp_path, archive_of({"a": b"1"}, add))
    assert [rule for rule, _ in refused] == ["bundle-size"]


def test_more_files_than_any_bundle_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBERS", 5)
    names, refused = _read(tmp_path, archive_of({f"f{number}": b"" for number in range(9)}))
    assert len(names) == 5
    assert [rule for rule, _ in refused] == ["bundle-size"]


def test_a_missing_file_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        read_archive(tmp_path / "none.tar.gz", tmp_path)


@given(st.text(max_size=40))
def test_a_good_name_stays_below_its_folder(name: str) -> None:
    if is_name(name):
        assert not name.startswith("/")
        assert all(part not in ("", ".", "..") for part in name.split("/"))


@given(st.binary(max_size=3000))
def test_no_bytes_crash_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    for content in (data, gzip.compress(data)):
        folder = tmp_path_factory.mktemp("fuzz")
        (folder / "b.tar.gz").write_bytes(content)
        (folder / "into").mkdir()
        assert read_archive(folder / "b.tar.gz", folder / "into").problems
