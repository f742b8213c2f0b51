"""The verb `checkpoint`, with a converter that plays."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import converter_stand_in
import pytest
import yaml
from called import Called, openrecipes

from openrecipes.cli import preparing
from openrecipes.targets import checkpoint_here
from openrecipes.targets.this_machine import Machine

RECIPE = "qwen3.5-moe-small/h200/openrecipes-tp2-ep2"
WEIGHT_BYTES = 2 * 748_976_096


class Site:
    """A folder with a profile of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = converter_stand_in.install(folder)
        self.profile = folder / "node.yaml"
        self.write()

    def write(self, paths: dict[str, str | None] | None = None, *, target: str = "local", **env: str) -> None:
        places = {"slime": "slime", "megatron": "megatron", "hf_checkpoint": "hf", "torch_dist": "dist"}
        said = {name: f"{self.folder}/{path}" for name, path in places.items()} | (paths or {})
        document = {
            "schema_version": 1,
            "name": "node",
            "target": target,
            "python": str(self.python),
            "paths": {name: path for name, path in said.items() if path is not None},
            "env": {"WEIGHT_BYTES": str(WEIGHT_BYTES), **env},
        }
        if target == "ssh":
            document["ssh"] = {"hosts": ["n1"]}
        self.profile.write_text(yaml.safe_dump(document))

    def words(self, verb: str, *more: str) -> tuple[str, ...]:
        return ("checkpoint", verb, RECIPE, "--cluster", str(self.profile), *more)

    def prepare(self, *more: str) -> Called:
        return openrecipes(*self.words("prepare", *more), folder=self.folder)

    def verify(self, *more: str) -> Called:
        return openrecipes(*self.words("verify", *more), folder=self.folder)

    def start(self, *more: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "openrecipes", *self.words("prepare", *more)]
        return subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )


@pytest.fixture
def site(tmp_path: Path) -> Site:
    folder = tmp_path / "a 'b' $c"
    folder.mkdir()
    return Site(folder)


def document(called: Called) -> dict[str, Any]:
    return dict(json.loads(called.stdout))


def rules(called: Called) -> list[str]:
    return [problem["rule"] for problem in document(called)["problems"]]


def wait_until(claim) -> None:
    end = time.monotonic() + 30
    while not claim():
        assert time.monotonic() < end, "never came true"
        time.sleep(0.05)


def test_it_says_what_it_needs_makes_it_and_does_not_make_it_again(site: Site) -> None:
    first = site.prepare("--random", "--json")
    said = document(first)
    assert first.returncode == 0, first.stderr
    assert (said["ok"], said["state"], said["kind"]) == (True, "made", "random")
    assert said["path"] == str(site.folder / "dist")
    disk = said["disk"]
    assert disk["torch_dist_bytes"] == WEIGHT_BYTES
    assert disk["needed_bytes"] == WEIGHT_BYTES + disk["work_bytes"] < disk["free_bytes"]
    lines = first.stderr.splitlines()
    assert lines[0] == f"Qwen3.5-MoE-small, random weights, on 1 node of 1 GPU: needs 1.5 GiB free in {site.folder}"
    assert [line for line in lines if line.startswith(("writes about 1.4 GiB", "loading the model", "writing "))]
    again = document(site.prepare("--random", "--json"))
    assert (again["ok"], again["state"], again["kept"]) == (True, "whole", [str(site.folder / "dist")])
    assert len(list((site.folder / "runs").iterdir())) == 1
    verified = site.verify("--json")
    assert (verified.returncode, document(verified)["ok"], document(verified)["kind"]) == (0, True, "random")


def test_a_converter_that_fails_ends_with_3_and_the_same_command_starts_again(site: Site) -> None:
    site.write(PLAY="die")
    failed = site.prepare("--random", "--json")
    assert (failed.returncode, rules(failed), document(failed)["ok"]) == (3, ["checkpoint-made"], False)
    assert "the preparation failed: the converter failed; exit status 9" in failed.stderr
    assert "stand-in on node 0 of 1" in failed.stderr
    site.write()
    again = site.prepare("--random", "--json")
    assert (again.returncode, document(again)["kept"]) == (0, [str(site.folder / "hf")])


def test_an_interrupted_one_is_taken_up_and_two_at_once_are_one(site: Site) -> None:
    site.write(PLAY="hang")
    with site.start("--random") as first:
        wait_until(lambda: list(site.folder.glob("dist.partial/*/*.distcp")))
        second, elsewhere = site.prepare("--random", "--json"), site.prepare("--random", "--json", "--work-dir", "w")
        os.kill(first.pid, signal.SIGINT)
        printed, said = first.communicate(timeout=60)
    assert (second.returncode, rules(second)) == (1, ["checkpoint-going"])
    assert (elsewhere.returncode, rules(elsewhere)) == (1, ["checkpoint-going"])
    assert (first.returncode, printed) == (130, "")
    assert said.splitlines()[-1] == (
        "stopped by the caller; the same command starts it again, and what is whole is kept"
    )
    assert not (site.folder / "dist").exists()
    site.write()
    assert site.prepare("--random").returncode == 0


def test_a_harness_that_was_killed_is_followed_again(site: Site) -> None:
    assert rules(site.prepare("--random", "--json", "--attach")) == ["checkpoint-going"]
    site.write(STEP_S="3")
    with site.start("--random") as first:
        wait_until(lambda: list(site.folder.glob("dist.partial/*/*.distcp")))
        first.kill()
    refused = site.prepare("--random", "--json")
    assert rules(refused) == ["checkpoint-going"]
    assert "--attach" in document(refused)["problems"][0]["mend"]
    attached = site.prepare("--random", "--json", "--attach")
    assert (attached.returncode, document(attached)["state"]) == (0, "made")


def test_one_that_ended_while_nobody_looked_is_recorded_so(site: Site) -> None:
    with site.start("--random", "--json", "--detach") as harness:
        said = json.loads(harness.communicate(timeout=30)[0])
    assert (harness.returncode, said["state"]) == (0, "running")
    wait_until((site.folder / "dist").exists)
    record = Path(said["run_dir"]) / "preparation.json"
    wait_until(lambda: '"exit_status": 0' in record.with_name("job.json").read_text())
    assert document(site.prepare("--random", "--json"))["state"] == "whole"
    assert json.loads(record.read_text())["outcome"] == "completed"


def test_a_short_disk_is_refused_before_anything_starts(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (checkpoint_here, preparing):
        monkeypatch.setattr(module, "free_here", lambda _wanted: 10**9)
    short = site.prepare("--random", "--json")
    assert (short.returncode, rules(short)) == (1, ["checkpoint-disk"])
    assert document(short)["problems"][0]["line"] is not None
    assert document(short)["disk"]["free_bytes"] == 10**9 < document(short)["disk"]["needed_bytes"]
    assert "needs 1.5 GiB in" in short.stderr
    assert "953.7 MiB are free there" in short.stderr
    assert not (site.folder / "runs").exists()


def test_a_look_tells_what_this_machine_lacks(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openrecipes.cli.checkpoint.this_machine", lambda: Machine(gpus=(), cpus=2))
    site.python = Path("/nowhere/python")
    site.write({"slime": "/nowhere/slime"})
    dry = site.prepare("--dry-run")
    assert dry.returncode == 0
    assert "python: warning: /nowhere/python is no program" in dry.stderr
    assert "--gpus: warning: 1 needed, but this machine has no GPU, 2 CPUs" in dry.stderr
    assert "paths.slime: warning: /nowhere/slime is no folder" in dry.stderr
    assert f"paths.hf_checkpoint: warning: {site.folder}/hf is no folder" in dry.stderr
    assert "paths.megatron" not in dry.stderr
    site.python = converter_stand_in.install(site.folder)
    site.write()
    monkeypatch.setattr("openrecipes.cli.checkpoint.this_machine", lambda: Machine(gpus=("NVIDIA H200",), cpus=2))
    assert "warning" not in site.prepare("--random", "--dry-run").stderr


def test_files_can_be_looked_at_and_started_by_hand(site: Site) -> None:
    dry = site.prepare("--random", "--dry-run", "--json")
    said = document(dry)
    assert {"launch.sh", "node.sh", "prepare_checkpoint.py", "random_checkpoint.py"} <= {
        f["path"] for f in said["files"]
    }
    assert (said["argv"][0], said["argv"][-2:]) == ("random_checkpoint.py", ["--save", "$TORCH_DIST"])
    written = site.prepare("--random", "-o", "by hand", "--json")
    assert document(written)["render_sha256"] == said["render_sha256"]
    assert site.prepare("--random", "-o", "by hand").returncode == 0
    done = subprocess.run(["bash", str(site.folder / "by hand" / "launch.sh")], check=False)
    assert (done.returncode, site.verify().returncode) == (0, 0)
    site.write(ODD="1")
    assert site.prepare("--random", "-o", "by hand").returncode == 1


@pytest.mark.parametrize(
    ("paths", "rule"),
    [
        ({"torch_dist": None}, "target-paths"),
        ({"torch_dist": "relative"}, "target-paths"),
        ({"torch_dist": "/proc/none/dist"}, "checkpoint-writable"),
        ({"hf_checkpoint": "/none"}, "checkpoint-source"),
    ],
)
def test_bad_paths_are_problems_of_the_profile(site: Site, paths: dict[str, str | None], rule: str) -> None:
    site.write(paths)
    called = site.prepare("--json", *(["--random"] if rule == "checkpoint-writable" else []))
    assert (called.returncode, rules(called)[:1]) == (1, [rule])
    assert document(called)["problems"][0]["file"] == str(site.profile)
    assert "Traceback" not in called.stderr


def test_a_failed_converter_is_told_with_the_cause_that_its_log_shows(site: Site) -> None:
    site.write(PLAY="die", SAYS="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    (problem,) = document(site.prepare("--random", "--json"))["problems"]
    assert "oom" in problem["what"]
    assert "CUDA out of memory" in problem["what"]


def test_ways_that_exclude_each_other_are_refused(site: Site) -> None:
    called = site.prepare("--random", "--json", "--attach", "--detach")
    assert (called.returncode, rules(called)) == (2, ["usage"])


def test_what_already_has_the_name_is_never_overwritten(site: Site) -> None:
    (site.folder / "dist").mkdir()
    (site.folder / "dist" / "mine").write_text("kept")
    assert rules(site.prepare("--random", "--json")) == ["checkpoint-tracker"]
    assert [path.name for path in (site.folder / "dist").iterdir()] == ["mine"]


def test_converted_weights_are_not_taken_for_random_ones(site: Site) -> None:
    assert site.prepare("--random").returncode == 0
    assert rules(site.prepare("--json")) == ["checkpoint-kind"]


def test_another_models_checkpoint_is_told(site: Site) -> None:
    assert site.prepare("--random").returncode == 0
    words = ("checkpoint", "verify", "qwen3.5-4b/h200/openrecipes-dp2", "--cluster", str(site.profile), "--json")
    assert rules(openrecipes(*words, folder=site.folder)) == ["checkpoint-model"]


def test_a_checkpoint_that_is_elsewhere_is_not_said_to_be_missing(site: Site) -> None:
    site.write({"torch_dist": "/fsx/none"}, target="ssh")
    called = site.verify("--json")
    assert (called.returncode, rules(called)) == (1, ["checkpoint-seen"])
    site.write({"torch_dist": None})
    assert rules(site.verify("--json")) == ["target-paths"]
