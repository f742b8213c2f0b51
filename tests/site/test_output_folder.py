"""A site's folder is written whole or not at all, and nothing else is ever overwritten."""

from pathlib import Path

import pytest

from openrecipes.problems import OutsideError, UsageError
from openrecipes.site.output_folder import MANIFEST, write_folder

FILES = {"index.html": b"one", "a/b.html": b"two"}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_new_folder_holds_the_files_and_their_list(tmp_path: Path) -> None:
    write_folder(tmp_path / "deep" / "site", FILES)
    found = contents(tmp_path / "deep" / "site")
    assert {name: found[name] for name in FILES} == FILES
    assert found.keys() == {*FILES, MANIFEST}
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["site"]


def test_an_old_site_is_replaced_and_what_is_gone_is_removed(tmp_path: Path) -> None:
    write_folder(tmp_path / "site", FILES)
    write_folder(tmp_path / "site", {"index.html": b"new"})
    assert contents(tmp_path / "site").keys() == {"index.html", MANIFEST}
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


@pytest.mark.parametrize("foreign", ["notes.txt", "a/mine.txt", ".git/HEAD"])
def test_a_folder_with_anything_else_in_it_is_refused(tmp_path: Path, foreign: str) -> None:
    site = tmp_path / "site"
    write_folder(site, FILES)
    (site / foreign).parent.mkdir(exist_ok=True)
    (site / foreign).write_text("keep me")
    before = contents(site)
    with pytest.raises(UsageError, match=foreign.replace(".", r"\.")):
        write_folder(site, FILES)
    assert contents(site) == before


def test_a_folder_that_lies_about_being_a_site_is_refused(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("[]")
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(UsageError, match="which no site build wrote"):
        write_folder(tmp_path, FILES)
    assert (tmp_path / "index.html").read_text() == "mine"


def test_an_empty_folder_is_taken_and_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_folder(tmp_path / "empty", FILES)
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="is a file"):
        write_folder(tmp_path / "file", FILES)


def test_a_folder_that_cannot_be_written_is_as_it_was(tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_folder(site, FILES)
    before = contents(site)
    with pytest.raises(OutsideError, match="cannot be written"):
        write_folder(site, {"index.html": b"new", "index.html/below": b"a file cannot hold one"})
    assert contents(site) == before
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_link_to_a_folder_keeps_being_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write_folder(tmp_path / "link", FILES)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "index.html").read_bytes() == b"one"
