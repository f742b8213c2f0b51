"""Logs that come through a pipe: read where one reading is enough, refused in plain words where it is not."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from called import openrecipes
from made_runs import slime_log

RECIPE = "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"
LONG = "a" * 400


@pytest.fixture
def pipe() -> Iterator[str]:
    """A pipe that gives a log once."""
    end, start = os.pipe()

    def write() -> None:
        with os.fdopen(start, "wb") as stream:
            stream.write(slime_log().encode())

    writer = threading.Thread(target=write)
    writer.start()
    yield f"/dev/fd/{end}"
    os.set_blocking(end, False)
    while True:
        try:
            if not os.read(end, 1 << 20):
                break
        except BlockingIOError:
            continue
    os.close(end)
    writer.join()


def test_a_log_through_a_pipe_is_read_and_diagnosed_as_the_file_is(pipe: str, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(slime_log())
    by_pipe = json.loads(openrecipes("diagnose", pipe, "--json").stdout)
    by_file = json.loads(openrecipes("diagnose", tmp_path / "train.log", "--json").stdout)
    assert by_pipe["files"] == [pipe]
    assert json.dumps(by_pipe).replace(pipe, "FILE") == json.dumps(by_file).replace(str(tmp_path / "train.log"), "FILE")


def test_the_steps_of_a_log_are_read_through_a_pipe(pipe: str) -> None:
    assert len(json.loads(openrecipes("steps", pipe, "--json").stdout)["steps"]) == 14


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("score", RECIPE), "cannot be read twice"),
        (("correctness", "convergence", RECIPE), "cannot be read twice"),
        (("watch", "--once"), "a pipe cannot be watched"),
    ],
    ids=" ".join,
)
def test_what_needs_a_log_twice_refuses_a_pipe(pipe: str, words: tuple[str, ...], says: str) -> None:
    done = openrecipes(*words, pipe, "--json")
    problems = json.loads(done.stdout)["problems"]
    assert done.returncode == 2
    assert [says in problem["what"] for problem in problems if problem["file"] == pipe] == [True]


@pytest.mark.parametrize(
    "words", ["steps", "diagnose", "watch", f"score {RECIPE}", "verify", "env --run", "launch --stop", "site serve"]
)
def test_a_name_that_is_too_long_is_told_of_in_words(words: str) -> None:
    done = openrecipes(*words.split(), LONG, "--json")
    (problem,) = json.loads(done.stdout)["problems"]
    assert (done.returncode, problem["rule"]) == (2, "file-readable")
    assert LONG in problem["file"]
