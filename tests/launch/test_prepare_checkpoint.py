"""Who may write a checkpoint's folder, what is kept and removed there, and what is refused before a GPU works."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from openrecipes.catalog.models import hf_config, model
from openrecipes.targets.checkpoint import manifest

LAUNCH = Path(__file__).resolve().parents[2] / "launch"
MODEL = model("Qwen3.5-MoE-small")
WEIGHTS = 1000


class Place:
    """A rendered folder, a folder for the checkpoint, and calls of the program."""

    def __init__(self, folder: Path, kind: str = "random") -> None:
        self.folder, self.source, self.rendered = folder / "dist", folder / "hf", folder / "rendered"
        self.partial = folder / "dist.partial"
        (self.rendered / "model").mkdir(parents=True)
        for name in ("prepare_checkpoint.py", "checkpoint_folder.py", "checkpoint_claim.py"):
            (self.rendered / name).write_text((LAUNCH / name).read_text())
        (self.rendered / "checkpoint.json").write_text(json.dumps(manifest(MODEL, kind)))
        (self.rendered / "model" / "config.json").write_text(json.dumps(hf_config(MODEL)))
        self.report = folder / "report.json"

    def words(self, verb: str, *more: str) -> list[str]:
        program = str(self.rendered / "prepare_checkpoint.py")
        said = ("--weight-bytes", str(WEIGHTS), "--hf-checkpoint", str(self.source), "--report", str(self.report))
        return [sys.executable, program, verb, str(self.folder), *said, *more]

    def call(self, verb: str, *more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(self.words(verb, *more), capture_output=True, text=True, check=False)

    def begin(self, *more: str, parent: int | None = None) -> int:
        """As a preparation that lives as long as this test, or as a given process."""
        return self.call("begin", "--parent", str(parent or os.getpid()), "--mark", "m", *more).returncode

    def said(self) -> dict[str, Any]:
        return dict(json.loads(self.report.read_text()))

    def rule(self) -> str:
        assert self.said()["state"] == "refused"
        return str(self.said()["problem"]["rule"])

    def convert(self, bytes_written: int = WEIGHTS) -> None:
        inside = self.partial / "release"
        inside.mkdir()
        (inside / "__0_0.distcp").write_bytes(b"0" * bytes_written)
        (inside / ".metadata").write_bytes(b"index")
        (self.partial / "latest_checkpointed_iteration.txt").write_text("release")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def dead() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_checkpoint_gets_its_name_only_when_it_is_whole(place: Place) -> None:
    assert place.begin() == 0
    assert json.loads((place.source / "config.json").read_text()) == hf_config(MODEL)
    assert place.call("finish").returncode == 1
    assert (place.rule(), place.folder.exists()) == ("checkpoint-shards", False)
    place.convert()
    assert place.call("finish").returncode == 0
    assert not place.partial.exists()
    assert {path.name for path in place.folder.iterdir()} == {
        "release",
        "latest_checkpointed_iteration.txt",
        "openrecipes-checkpoint.json",
        "openrecipes-checkpoint-files.json",
    }
    assert json.loads((place.folder / "openrecipes-checkpoint.json").read_text()) == manifest(MODEL, "random")
    assert place.said()["state"] == "made"


def test_a_whole_checkpoint_is_not_made_again(place: Place) -> None:
    place.begin()
    place.convert()
    place.call("finish")
    before = (place.folder / "release" / "__0_0.distcp").stat().st_mtime_ns
    assert place.begin() == 10
    assert place.said()["state"] == "whole"
    assert (place.folder / "release" / "__0_0.distcp").stat().st_mtime_ns == before
    assert not place.partial.exists()


def test_shards_that_are_too_small_for_the_weights_are_not_whole(place: Place) -> None:
    place.begin()
    place.convert(bytes_written=WEIGHTS // 2)
    assert place.call("finish").returncode == 1
    assert "has shards of 500 B, and the weights are 1000 B" in place.said()["problem"]["what"]


def test_of_two_at_once_the_second_is_refused_and_changes_nothing(place: Place) -> None:
    assert place.begin("--job", "/runs/one") == 0
    owner = (place.partial / ".openrecipes-preparation.json").read_bytes()
    assert place.begin() == 1
    assert place.rule() == "checkpoint-going"
    assert "its files in /runs/one" in place.said()["problem"]["what"]
    assert (place.partial / ".openrecipes-preparation.json").read_bytes() == owner


def test_of_many_that_take_a_dead_one_over_one_does(place: Place) -> None:
    assert place.begin(parent=dead()) == 0
    (place.partial / "iter_0000001").mkdir()
    codes: list[int] = []
    threads = [threading.Thread(target=lambda: codes.append(place.begin())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [0, 1, 1, 1, 1, 1]
    assert not (place.partial / "iter_0000001").exists()
    assert not (place.partial / ".openrecipes-taking").exists()


def test_what_a_dead_one_left_half_written_is_written_again_and_its_source_kept(place: Place) -> None:
    place.begin(parent=dead())
    (place.partial / "iter_0000001").mkdir()
    (place.partial / "iter_0000001" / "__0_0.distcp").write_bytes(b"0" * WEIGHTS)
    written = (place.source / "config.json").stat().st_mtime_ns
    assert place.begin() == 0
    assert [path.name for path in place.partial.iterdir()] == [".openrecipes-preparation.json"]
    assert (place.source / "config.json").stat().st_mtime_ns == written
    assert place.said()["kept"] == [str(place.source)]


def test_what_a_dead_one_left_whole_is_kept_and_only_named(place: Place) -> None:
    place.begin(parent=dead())
    place.convert()
    assert place.begin() == 11
    assert place.said()["state"] == "finishing"
    assert place.call("finish").returncode == 0
    assert (place.folder / "release" / "__0_0.distcp").stat().st_size == WEIGHTS


def test_shards_of_other_weights_are_not_taken_for_whole(place: Place) -> None:
    place.begin(parent=dead())
    place.convert()
    (place.rendered / "checkpoint.json").write_text(json.dumps({**manifest(MODEL, "random"), "model": "Other"}))
    assert place.begin() == 0
    assert not (place.partial / "release").exists()


def test_one_on_another_machine_is_alive_as_long_as_its_file_is_touched(place: Place) -> None:
    place.begin(parent=dead())
    path = place.partial / ".openrecipes-preparation.json"
    owner = json.loads(path.read_text())
    path.write_text(json.dumps({**owner, "host": "n7", "process": {**owner["process"], "boot": "another"}}))
    with subprocess.Popen(
        place.words("begin", "--parent", str(os.getpid())), stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline().startswith("openrecipes: progress waits up to 2 min 00 s for a sign")
        os.utime(path)
        assert other.wait(timeout=30) == 1
    assert (place.rule(), "on n7" in place.said()["problem"]["what"]) == ("checkpoint-going", True)
    os.utime(path, (time.time() - 118.5, time.time() - 118.5))
    assert place.begin() == 0


def test_a_number_that_another_process_has_now_is_no_sign_of_life(place: Place) -> None:
    place.begin()
    path = place.partial / ".openrecipes-preparation.json"
    owner = json.loads(path.read_text())
    path.write_text(json.dumps({**owner, "process": {**owner["process"], "started": "1"}}))
    assert place.begin() == 0


def test_nothing_that_is_not_its_own_is_ever_removed(place: Place) -> None:
    place.begin(parent=dead())
    (place.partial / "iter_0000001").mkdir()
    (place.partial / "notes.txt").write_text("mine")
    assert (place.begin(), place.rule()) == (1, "checkpoint-partial")
    assert "holds notes.txt, which no preparation wrote" in place.said()["problem"]["what"]
    assert (place.partial / "iter_0000001").is_dir()


def test_a_folder_of_somebody_else_under_that_name_is_left_alone(place: Place) -> None:
    place.partial.mkdir()
    (place.partial / "mine").write_text("kept")
    os.utime(place.partial, (time.time() - 60, time.time() - 60))
    assert (place.begin(), place.rule()) == (1, "checkpoint-partial")
    assert (place.partial / "mine").read_text() == "kept"


@pytest.mark.parametrize("owner", ["[]", '{"process": 3}', '{"process": {"pid": "x"}}', "\x00"])
def test_an_owners_file_of_any_text_is_a_refusal_and_no_traceback(place: Place, owner: str) -> None:
    place.partial.mkdir()
    (place.partial / ".openrecipes-preparation.json").write_text(owner)
    done = place.call("begin", "--parent", str(os.getpid()))
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (lambda place: (place.folder / "mine").mkdir(parents=True), "checkpoint-exists"),
        (lambda place: place.folder.write_text("a file"), "checkpoint-exists"),
        (lambda place: place.folder.symlink_to("nowhere"), "checkpoint-exists"),
        (lambda place: _made(place, "converted"), "checkpoint-kind"),
        (lambda place: _made(place, "random", model("Qwen3.5-MoE-mini")), "checkpoint-model"),
        (
            lambda place: (_made(place, "random"), (place.folder / "release" / ".metadata").unlink()),
            "checkpoint-shards",
        ),
    ],
)
def test_a_checkpoint_is_never_overwritten(place: Place, spoil, rule: str) -> None:
    spoil(place)
    before = sorted(str(path) for path in place.folder.parent.rglob("*"))
    assert (place.begin(), place.rule()) == (1, rule)
    place.report.unlink()
    assert sorted(str(path) for path in place.folder.parent.rglob("*") if "__pycache__" not in str(path)) == [
        path for path in before if "__pycache__" not in path
    ]


def _made(place: Place, kind: str, of=MODEL) -> None:
    place.partial.mkdir()
    place.convert()
    place.partial.rename(place.folder)
    (place.folder / "openrecipes-checkpoint.json").write_text(json.dumps(manifest(of, kind)))


def test_a_short_disk_is_refused_with_both_numbers_and_nothing_is_left(place: Place) -> None:
    assert place.begin("--needed-bytes", str(10**18)) == 1
    said = place.said()
    assert place.rule() == "checkpoint-disk"
    assert said["disk"]["needed_bytes"] == 10**18
    assert 0 < said["disk"]["free_bytes"] < 10**18
    assert "931,322,574.6 GiB in" in said["problem"]["what"]
    assert not place.partial.exists()
    assert not place.source.exists()


@pytest.mark.parametrize(
    ("files", "what"),
    [
        (None, "there is no such folder"),
        ({}, "holds no config.json"),
        ({"config.json": "{"}, "holds no config.json"),
        ({"config.json": json.dumps({"text_config": {"num_hidden_layers": 7}})}, "num_hidden_layers 7, and the"),
        ({"config.json": json.dumps(hf_config(MODEL))}, "holds no weights"),
        (
            {
                "config.json": json.dumps({"text_config": hf_config(MODEL)}),
                "model.safetensors.index.json": json.dumps({"weight_map": {"a": "one", "b": "two", "c": "two"}}),
                "one": "",
            },
            "lacks 1 of 2 files of weights, as two",
        ),
    ],
)
def test_a_source_that_cannot_be_converted_is_told_before_anything_is_made(tmp_path: Path, files, what: str) -> None:
    place = Place(tmp_path, kind="converted")
    if files is not None:
        place.source.mkdir()
        for name, text in files.items():
            (place.source / name).write_text(text)
    assert (place.begin(), place.rule()) == (1, "checkpoint-source")
    assert what in place.said()["problem"]["what"]
    assert not place.partial.exists()


def test_a_whole_source_is_converted(tmp_path: Path) -> None:
    place = Place(tmp_path, kind="converted")
    place.source.mkdir()
    (place.source / "config.json").write_text(json.dumps({"text_config": hf_config(MODEL)}))
    (place.source / "model.safetensors").write_text("")
    assert place.begin() == 0


def test_a_folder_that_may_not_be_written_is_named(place: Place) -> None:
    place.folder = Path("/sys/dist")  # where not even root makes a folder
    assert (place.begin(), place.rule()) == (1, "checkpoint-writable")
    assert place.said()["problem"]["what"].startswith("/sys/dist.partial: ")


def test_an_empty_folder_under_the_name_is_no_hindrance(place: Place) -> None:
    place.folder.mkdir()
    assert place.begin() == 0
    place.convert()
    assert place.call("finish").returncode == 0
    assert (place.folder / "release").is_dir()


def test_a_node_that_does_not_see_the_folder_is_named(place: Place) -> None:
    place.begin()
    assert place.call("join", "--mark", "m", "--within", "0").returncode == 0
    done = place.call("join", "--mark", "another", "--within", "0")
    assert done.returncode == 1
    assert f"does not see {place.partial}" in done.stdout


def test_watching_says_each_phase_once_and_touches_the_owners_file(place: Place) -> None:
    place.begin()
    path = place.partial / ".openrecipes-preparation.json"
    os.utime(path, (1, 1))
    parent = subprocess.Popen(["sleep", "60"])
    words = place.words("watch", "--parent", str(parent.pid))
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().startswith("openrecipes: progress loading the model, 0 s so far")
        assert path.stat().st_mtime > 1
        with (place.partial / "shard").open("wb") as shard:
            shard.truncate(2**21)
        line = watching.stdout.readline()
        parent.terminate()
        parent.wait()
        rest = watching.stdout.read()
    assert line.startswith("openrecipes: progress writing 2.0 MiB of about 1000 B")
    assert rest == ""
