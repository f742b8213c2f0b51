"""What is refused before anything is submitted."""

import json
import platform
from pathlib import Path
from typing import Any

import pytest

from openrecipes.problems import OutsideError, Place, Problem, ProblemsError, UsageError
from openrecipes.recipe.read import read_recipe
from openrecipes.runs.directory import named_run_directory
from openrecipes.runs.record import Submission
from openrecipes.shipped import shipped
from openrecipes.targets import slurm_commands, starting
from openrecipes.targets.profile import Profile
from openrecipes.targets.rendering import Prepared, prepared, target_of
from openrecipes.targets.run_book import open_book
from openrecipes.targets.starting import found_again, refuse_directory, started

SMOKE = ("recipes", "qwen3.5-moe-mini", "cpu", "smoke-dp2.yaml")


def ready(target: str = "local", **said: Any) -> Prepared:
    document = {"schema_version": 1, "name": "c", "target": target, **said}
    profile = Profile.model_validate_json(json.dumps(document))
    return prepared(read_recipe(shipped(*SMOKE)), target_of(None, profile), profile=profile)


@pytest.mark.parametrize(
    ("target", "container", "path", "says"),
    [
        ("slurm", None, "/runs/50%j", "holds %, which Slurm expands"),
        ("slurm", None, "/a\\b", "holds \\, which Slurm expands"),
        ("slurm", "pyxis", "/a:b,c", "holds , and :, which pyxis takes for the end of a mounted path"),
        ("local", "docker", "/a:b", "holds :, which docker takes"),
    ],
)
def test_a_run_directory_that_a_place_cannot_name_is_refused(
    target: str, container: str | None, path: str, says: str
) -> None:
    said = {"container": {"runtime": container, "image": "a@sha256:" + "0" * 64}} if container else {}
    with pytest.raises(UsageError) as caught:
        refuse_directory(ready(target, **said), Path(path))
    assert caught.value.problems[0].what.startswith(says)
    refuse_directory(ready(target, **said), Path("/runs/a 'b' $c é"))


@pytest.mark.parametrize("target", ["local", "ssh", "slurm"])
def test_a_run_is_submitted_once(tmp_path: Path, target: str) -> None:
    one = ready(target, **({"ssh": {"hosts": ["n1"]}} if target == "ssh" else {}))
    recipe = read_recipe(shipped(*SMOKE))
    book = open_book(named_run_directory(tmp_path / "run"), one, recipe, ())
    book.note(outcome="running", submission=Submission(kind="slurm", id="17", name="run"))
    with pytest.raises(ProblemsError, match="was submitted already, as slurm 17"):
        started(book, one)


def test_a_run_that_was_never_submitted_is_not_found_again(tmp_path: Path) -> None:
    book = open_book(named_run_directory(tmp_path / "run"), ready(), read_recipe(shipped(*SMOKE)), ())
    with pytest.raises(ProblemsError, match="was prepared and never submitted"):
        found_again(book.run, book.record)


def test_a_process_of_another_host_or_one_that_left_no_record_is_not_taken_for_the_run(tmp_path: Path) -> None:
    book = open_book(named_run_directory(tmp_path / "run"), ready(), read_recipe(shipped(*SMOKE)), ())
    book.note(submission=Submission(kind="process", id="1", host="elsewhere"))
    with pytest.raises(ProblemsError, match="runs on elsewhere, as process 1"):
        found_again(book.run, book.record)
    here = Submission(kind="process", id="1", host=platform.node())
    with pytest.raises(ProblemsError, match="process 1 is gone and left no record"):
        found_again(book.run, book.record.model_copy(update={"submission": here}))


def test_a_job_of_another_cluster_is_neither_followed_nor_taken_for_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = open_book(named_run_directory(tmp_path / "run"), ready("slurm"), read_recipe(shipped(*SMOKE)), ())
    book.note(submission=Submission(kind="slurm", id="17", name="run", cluster="one"))
    monkeypatch.setattr(starting, "cluster_here", lambda: "two")
    with pytest.raises(ProblemsError, match="is job 17 of one, and the Slurm here is that of two") as caught:
        found_again(book.run, book.record)
    assert caught.value.problems[0].rule == "run-found"
    for answers in ("one", None):
        monkeypatch.setattr(starting, "cluster_here", lambda said=answers: said)
        assert found_again(book.run, book.record).submission.id == "17"


@pytest.mark.parametrize(
    ("printed", "name"),
    [("Configuration data\nClusterName             = loop-1\nX = y\n", "loop-1"), ("X = y\n", None), (None, None)],
)
def test_a_cluster_is_named_by_its_slurm(
    printed: str | None, name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ran(_command: tuple[str, ...]) -> str:
        if printed is None:
            raise OutsideError(Problem(place=Place(), rule="slurm", what="no answer", mend="ask"))
        return printed

    monkeypatch.setattr(slurm_commands, "ran", ran)
    assert slurm_commands.cluster_here() == name
