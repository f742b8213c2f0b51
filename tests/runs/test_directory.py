import datetime
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.problems import UsageError
from openrecipes.runs.directory import named_run_directory, new_run_directory, open_run_directory, run_name
from openrecipes.runs.record import FileHash

MOMENT = datetime.datetime(2026, 11, 30, 4, 15, 7, tzinfo=datetime.UTC)


def test_a_run_is_named_after_model_gpu_recipe_and_time():
    name = run_name("Qwen3.5-397B-A17B", "H200", "attune-tp2", MOMENT)
    assert name == "qwen3.5-397b-a17b-h200-attune-tp2-20261130T041507Z"


def test_a_name_in_another_time_zone_is_the_same():
    there = MOMENT.astimezone(datetime.timezone(datetime.timedelta(hours=-7)))
    assert run_name("M", "H200", "s", there) == run_name("M", "H200", "s", MOMENT)


@given(st.text(min_size=1, max_size=40))
def test_a_name_is_one_plain_path_part(text):
    name = run_name(text, text, text, MOMENT)
    assert Path(name).name == name
    assert name.isascii()
    assert not any(character.isspace() for character in name)


def test_the_same_name_gets_a_number_and_nothing_is_reused(tmp_path):
    made = [new_run_directory(tmp_path / "runs", "run").root for _ in range(3)]
    assert [root.name for root in made] == ["run", "run-2", "run-3"]


def test_many_at_once_get_a_directory_each(tmp_path):
    made = []
    threads = [threading.Thread(target=lambda: made.append(new_run_directory(tmp_path, "run").root)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 8


def test_of_many_that_name_one_directory_one_gets_it(tmp_path):
    (tmp_path / "empty").mkdir()
    made, refused = [], []

    def claim():
        try:
            made.append(named_run_directory(tmp_path / "empty"))
        except UsageError as error:
            refused.append(error)

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(refused)) == (1, 7)


def test_a_named_directory_may_be_missing_with_its_parents(tmp_path):
    run = named_run_directory(tmp_path / "a" / "b c'd")
    assert run.log.parent.is_dir()


def test_a_directory_that_holds_anything_is_refused_and_left_alone(tmp_path):
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(UsageError, match="is not empty; a run directory is never reused"):
        named_run_directory(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_a_path_through_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be made"):
        named_run_directory(tmp_path / "file" / "run")
    with pytest.raises(UsageError, match="cannot be made"):
        new_run_directory(tmp_path / "file", "run")


def test_a_path_with_a_newline_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(UsageError, match="control character"):
        named_run_directory(tmp_path / "a\nb")
    assert not list(tmp_path.iterdir())


def test_a_folder_without_record_is_no_run_directory(tmp_path):
    with pytest.raises(UsageError, match=r"is no run directory: it holds no run\.json"):
        open_run_directory(tmp_path)
    with pytest.raises(UsageError, match="there is no such directory"):
        open_run_directory(tmp_path / "missing")


def test_changed_files_are_found(tmp_path):
    run = named_run_directory(tmp_path / "run")
    run.rendered.mkdir()
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    for name in ("same", "changed"):
        (run.rendered / name).write_text("")
    files = tuple(FileHash(path=f"rendered/{name}", sha256=empty) for name in ("same", "changed", "missing"))
    assert run.changed_files(files) == ("rendered/missing",)
    (run.rendered / "changed").write_text(" ")
    assert run.changed_files(files) == ("rendered/changed", "rendered/missing")
