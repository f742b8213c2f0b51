"""`openrecipes launch` as a person calls it, on this machine, with a trainer that plays."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import fake_trainer
import pytest
import yaml
from called import Called, openrecipes
from made_run_directories import job, made
from smoke_recipe import write_smoke_recipe

from openrecipes.runs.directory import open_run_directory
from openrecipes.targets.own_processes import own_processes

CALL = (sys.executable, "-m", "openrecipes", "launch")


class Place:
    """An empty folder to launch in, with a recipe, and a profile of the trainer that plays. It looks at no rows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = str(fake_trainer.install(folder))
        self.run_dir = folder / "the run"

    def cluster(self, **more: object) -> str:
        path = self.folder / "site.yaml"
        said = {"schema_version": 1, "name": "site", "target": "local", "python": self.python, **more}
        path.write_text(yaml.safe_dump(said))
        return str(path)

    def words(self, *more: str, env: dict[str, str] | None = None, **profile: object) -> list[str]:
        recipe = write_smoke_recipe(self.folder, env={"OMP_NUM_THREADS": "1", **(env or {})})
        return [*CALL, str(recipe), "--cluster", self.cluster(**profile), "--run-dir", str(self.run_dir), *more]

    def process(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, capture_output=True, text=True, check=False, cwd=self.folder, timeout=120)

    def call(self, *words: str) -> Called:
        """The command as called within this process; one that leaves a run behind is a process of its own."""
        return openrecipes(*words[CALL.index("openrecipes") + 1 :], folder=self.folder)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def wait_until_it_trains(place: Place) -> None:
    log = place.run_dir / "log" / "train.log"
    end = time.monotonic() + 60
    while not (log.exists() and "step 1:" in log.read_text()):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_launch_prints_its_record_and_one_line_a_stage(place: Place) -> None:
    done = place.call(*place.words("--json"))
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert (record["outcome"], record["steps_read"], record["submission"]["kind"]) == ("completed", 14, "process")
    assert "environment.json" in {file["path"] for file in record["left"]}
    assert record["run_dir"] == str(place.run_dir.resolve())
    assert record == {"run_dir": record["run_dir"], **json.loads((place.run_dir / "run.json").read_text())}
    assert "ended  step 14 of 14" in done.stderr
    assert not (place.run_dir / "result.json").exists()


def test_a_detached_run_goes_on_and_is_attached_to_once_and_again(place: Place) -> None:
    detached = place.process(*place.words("--detach", env={"STEP_S": "0.1"}))
    assert detached.returncode == 0, detached.stderr
    assert "follow  openrecipes launch --attach" in detached.stdout
    assert open_run_directory(place.run_dir).record().outcome == "running"
    attached = place.call(*CALL, "--attach", str(place.run_dir), "--json")
    assert (attached.returncode, json.loads(attached.stdout)["outcome"]) == (0, "completed")
    assert place.call(*CALL, "--attach", str(place.run_dir), "--json").stdout == attached.stdout


def test_a_killed_harness_leaves_a_run_that_is_found_again(place: Place) -> None:
    started = subprocess.Popen(
        place.words(env={"STEP_S": "0.2"}), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=place.folder
    )
    wait_until_it_trains(place)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    again = place.call(*place.words())
    assert again.returncode == 2
    assert "a run directory is never reused" in again.stderr
    attached = place.call(*CALL, "--attach", str(place.run_dir), "--json")
    assert (attached.returncode, json.loads(attached.stdout)["steps_read"]) == (0, 14)


def test_a_stop_ends_the_run_keeps_its_evidence_and_is_no_failure(place: Place) -> None:
    assert place.process(*place.words("--detach", env={"STEP_S": "0.2", "STEPS": "500"})).returncode == 0
    wait_until_it_trains(place)
    stopped = place.call(*CALL, "--stop", str(place.run_dir), "--json")
    record = json.loads(stopped.stdout)
    assert (stopped.returncode, record["outcome"], record["job"]["signal"]) == (0, "interrupted", "TERM")
    assert record["reason"].startswith("stopped by the caller, with ")
    assert record["log"]["size_bytes"] > 0
    assert own_processes(place.run_dir.resolve()) == ()


def test_a_dry_run_shows_what_would_be_started_and_makes_nothing(place: Place) -> None:
    before = sorted(place.folder.iterdir())
    bound = ("--first-step-seconds", "77")
    words = place.words("--dry-run", "--json", *bound)
    done = place.call(*words)
    assert done.returncode == 0, done.stderr
    assert "would be started here: bash rendered/launch.sh RUN" in done.stderr
    document = json.loads(done.stdout)
    shown = place.call(*CALL[:-1], "render", words[len(CALL)], "--cluster", place.cluster(), "--json", *bound)
    assert document == json.loads(shown.stdout)
    assert "limit=77\n" in next(file["text"] for file in document["files"] if file["path"] == "launch.sh")
    assert {path.name for path in place.folder.iterdir()} - {path.name for path in before} == {"recipes", "site.yaml"}


def test_a_dry_run_says_what_a_launch_would_not_find(place: Place) -> None:
    place.run_dir = place.folder / "100%"
    odd = place.call(*place.words("--dry-run", target="slurm"))
    assert (odd.returncode, odd.stdout) == (2, "")
    assert "holds %, which Slurm expands in the path of a job's output" in odd.stderr
    no_rows = place.call(*place.words("--dry-run", "--sft-data", "no.parquet"))
    assert (no_rows.returncode, no_rows.stdout != "") == (0, True)
    assert "no.parquet: warning: there is no such file" in no_rows.stderr


def test_a_dry_run_says_which_files_of_the_profile_it_does_not_see(place: Place) -> None:
    rows, token = str(place.folder / "no" / "rows.parquet"), str(place.folder / "no" / "hf")
    far = {"target": "ssh", "ssh": {"hosts": ["n1"]}, "gpu": {"type": "H200"}}
    for more in (far, {}):
        words = place.words("--dry-run", **more, paths={"sft_data": rows}, secrets={"HF_TOKEN": {"file": token}})
        done = place.call(*words)
        assert done.returncode == 0, done.stderr
        told = "is not seen from here" if more else "there is no such file"
        assert f"{rows} {told}" in done.stderr or f"{rows}: warning: {told}" in done.stderr
        assert f"{token} is not {'seen from here' if more else 'there'}" in done.stderr
    (place.folder / "no").mkdir()
    for file in (rows, token):
        Path(file).write_text("x")
    there = place.words("--dry-run", **far, paths={"sft_data": rows}, secrets={"HF_TOKEN": {"file": token}})
    assert "not seen from here" not in place.call(*there).stderr


def test_a_secret_that_is_not_set_is_refused_at_its_line_and_a_dry_run_needs_none(place: Place) -> None:
    words = place.words(secrets={"HF_TOKEN": {"variable": "NO_SUCH_VARIABLE"}})
    done = place.call(*words)
    assert done.returncode == 1
    assert "site.yaml:6:secrets.HF_TOKEN: NO_SUCH_VARIABLE is not set here" in done.stderr
    assert not place.run_dir.exists()
    dry = place.call(*words, "--dry-run")
    assert (dry.returncode, dry.stdout != "") == (0, True)
    assert "site.yaml:6:secrets.HF_TOKEN: warning: NO_SUCH_VARIABLE is not set here" in dry.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "nothing says what to launch"),
        (["x", "--attach", "y"], "RECIPE and --attach exclude each other"),
        (["--attach", "y", "--stop", "z"], "--attach and --stop exclude each other"),
        (["--attach", "no-such-run"], "there is no such directory"),
        (["--stop", "y", "--dry-run", "--set", "a=b"], "--set, --dry-run would change nothing of a run that was"),
    ],
)
def test_a_call_that_is_unclear_is_wrong_usage(place: Place, words: list[str], says: str) -> None:
    done = place.call(*CALL, *words)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.parametrize("option", ["--stop", "--attach"])
def test_of_a_run_that_has_ended_it_is_said_that_there_is_nothing_to_do(tmp_path: Path, option: str) -> None:
    run = made(tmp_path / "run", of_job=job(), outcome="interrupted", reason="stopped by the caller")
    done = openrecipes("launch", option, run.root)
    assert done.returncode == (0 if option == "--stop" else 130)
    assert done.stderr == f"{run.root} has ended already: interrupted, stopped by the caller\n"
