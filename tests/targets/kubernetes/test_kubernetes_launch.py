"""`launch --target kubernetes` from its first second to its end, on a cluster that plays."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import called
import pytest
import yaml
from played_kubernetes import PlayedKubernetes, until
from rayjobs import profile

from openrecipes.runs.arrivals import arrivals
from openrecipes.runs.directory import RunDirectory, open_run_directory
from openrecipes.targets import kubernetes_job
from openrecipes.targets.fabric import Fabric
from openrecipes.targets.kubernetes_site import KubernetesSite
from openrecipes.targets.profile_schema import profile_text

RECIPE = "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"
# Two pods of two GPUs, eight steps.
SETTINGS = (
    "gpu.count=4",
    "gpu.per_node=2",
    "layout.tp=1",
    "layout.pp=1",
    "layout.ep=2",
    "layout.sequence_parallel=false",
    "result.steps_per_run=8",
)
# The verb, more impatient than for a person.
CALL = """
import openrecipes.targets.kubernetes_job as job
from openrecipes.cli.app import main
job._ASK_S = 0.2
main()
"""
VERB = (sys.executable, "-c", CALL)
PYTHON = """#!/bin/bash
case "$1" in
  *preflight_between.py) exit 0 ;;
  *ray_cluster.py) echo "Ray has 2 nodes" ;;
  *capture_environment.py) printf '{}\\n' >"$3" ;;
  *) exec "@PYTHON@" "$@" ;;
esac
"""
TRAIN = """
import os, sys, time
play, step_s = os.environ.get("TRAIN", "steps"), float(os.environ.get("STEP_S", "0.01"))
for n in range(int(sys.argv[sys.argv.index("--num-rollout") + 1])):
    if play == "silent":
        break
    time.sleep(step_s)
    stamp = time.strftime("[%Y-%m-%d %H:%M:%S]")
    step = {"train/loss": 1.5, "train/grad_norm": 0.5, "train/lr-pg_0": 1e-5, "train/step": n}
    perf = {"perf/train_wait_time": 0.0, "perf/train_time": step_s, "perf/step_time": step_s}
    print(f"{stamp} model.py:9 - step {n}: {step}")
    print(f"{stamp} train_metric_utils.py:50 - perf {n}: {perf}", flush=True)
    if n == 3:
        open(os.path.join(os.environ["KUBE"], "now"), "w").close()
        if play == "die":
            print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", file=sys.stderr)
            sys.exit(1)
        if play == "hang":
            time.sleep(600)
print("silent end")
"""


class Cluster(PlayedKubernetes):
    """With slime's trainer, which plays, a profile, and the verb."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, PYTHON.replace("@PYTHON@", sys.executable))
        (self.volume / "slime" / "train_async.py").write_text(TRAIN, encoding="utf-8")
        (self.kube / "pending-limit").write_text("1", encoding="utf-8")

    def profile(self, volume_at: str = "/far/my volume", **more: Any) -> Path:
        site = profile().kubernetes
        assert isinstance(site, KubernetesSite)
        volume = site.volumes[0].model_copy(update={"mount_path": volume_at})
        names = ("hf_checkpoint", "torch_dist", "sft_data", "runs", "slime")
        where = profile(
            python=str(self.folder / "python"),
            paths={name: f"{volume_at}/{name}" for name in names},
            kubernetes={"volumes": (volume,), "image": f"{site.image.partition('@')[0]}@sha256:{'7' * 64}"},
            **{
                "preflight": "off",
                "preflight_load": False,
                "join_seconds": 20,
                "fabric": Fabric(kind="none", devices_per_node=0),
                **more,
            },
        )
        path = self.folder / "cluster.yaml"
        path.write_text(profile_text(where), encoding="utf-8")
        return path

    def words(self, *more: str, env: dict[str, str] | None = None, **changes: Any) -> list[str]:
        given = [*SETTINGS, *(f"env.{n}={v}" for n, v in {"KUBE": str(self.kube), **(env or {})}.items())]
        settings = [word for setting in given for word in ("--set", setting)]
        words = ["launch", RECIPE, "--cluster", str(self.profile(**changes)), "--yes", *settings]
        return [*words, "--run-dir", str(self.folder / "run"), *more]

    def call(self, *words: str) -> called.Called:
        """The verb, ended."""
        return called.openrecipes(*words, "--json", folder=self.folder)

    def start(self, *words: str) -> "subprocess.Popen[str]":
        command = [*VERB, *words, "--json"]
        return subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder
        )

    @property
    def run(self) -> RunDirectory:
        return open_run_directory(self.folder / "run")

    def plays(self, word: str) -> None:
        (self.kube / "play").write_text(word, encoding="utf-8")

    def jobs(self) -> list[str]:
        return sorted(path.stem for path in (self.kube / "jobs").glob("*.json"))

    def asked(self) -> list[str]:
        return (self.kube / "asked").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    for _ in made.called_from(monkeypatch):
        yield made


def test_a_launch_creates_the_rendered_bytes_follows_them_and_brings_everything_here(cluster: Cluster) -> None:
    ran = cluster.call(*cluster.words(preflight="report"))
    assert ran.returncode == 0, ran.stderr
    record = json.loads(ran.stdout)
    assert record["outcome"] == "completed"
    assert record["submission"]["ended_as"] == "SUCCEEDED"
    (job,) = cluster.jobs()
    assert record["submission"]["id"] == job
    given = yaml.safe_load((cluster.run.rendered / "rayjob.yaml").read_text(encoding="utf-8"))
    stored = json.loads((cluster.kube / "jobs" / f"{job}.json").read_text(encoding="utf-8"))
    assert stored["spec"] == given["spec"]
    words = [w for w in cluster.words(preflight="report")[1:] if w != "--yes"]
    shown = json.loads(cluster.call("render", *words[: words.index("--run-dir")]).stdout)
    assert shown["render_sha256"] == record["render_sha256"]
    far = cluster.volume / "runs" / f"{job}-x1y2z"
    assert cluster.run.log.read_bytes() == (far / "log" / "train.log").read_bytes()
    came = arrivals(cluster.run.arrivals)
    assert came is not None
    assert 8 < came.lines <= cluster.run.log.read_bytes().count(b"\n")
    assert cluster.run.job() is not None
    assert {path.name for path in (cluster.run.root / "preflight").iterdir()} == {"node-0.json", "node-1.json"}
    assert list((cluster.run.root / "telemetry").glob("*.jsonl"))
    assert (cluster.run.root / "preflight.json").exists()
    assert (cluster.run.root / "log" / "submitter.log").exists()
    assert "step 8 of 8" in ran.stderr
    (config,) = (cluster.kube / "configs").glob("*.json")
    owner = json.loads(config.read_text(encoding="utf-8"))["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"]) == ("RayJob", job)


def test_the_volume_is_read_where_it_is_mounted_here(cluster: Cluster) -> None:
    (cluster.kube / "no-exec").touch()
    ran = cluster.call(*cluster.words(volume_at=str(cluster.volume)))
    assert json.loads(ran.stdout)["outcome"] == "completed", ran.stderr
    assert not [line for line in cluster.asked() if line.startswith("exec")]


def test_where_no_pod_may_be_asked_the_submitters_log_is_taken_and_what_is_missing_is_said(cluster: Cluster) -> None:
    (cluster.kube / "no-exec").touch()
    ran = cluster.call(*cluster.words(env={"STEP_S": "0.1"}))
    record = json.loads(ran.stdout)
    assert (ran.returncode, record["outcome"]) == (1, "failed")
    assert "SUCCEEDED, and what it left was not collected" in record["reason"]
    assert "pods/exec" in record["submission"]["ended_as"]
    assert record["submission"]["folder"].startswith("/far/my volume/runs/")
    assert cluster.run.log.read_bytes().count(b" - perf ") == 8


def test_a_trainer_that_dies_fails_the_run_and_its_log_is_here(cluster: Cluster) -> None:
    ran = cluster.call(*cluster.words(env={"TRAIN": "die"}))
    record = json.loads(ran.stdout)
    assert (ran.returncode, record["outcome"]) == (1, "failed")
    assert "exit status 1, with 4 of 8 steps" in record["reason"]
    assert record["submission"]["ended_as"] == "FAILED (AppFailed)"
    assert "CUDA out of memory" in cluster.run.log.read_text(encoding="utf-8")
    assert cluster.jobs() == [record["submission"]["id"]]


def test_success_without_steps_and_a_job_that_was_stopped_in_ray_are_failures(cluster: Cluster) -> None:
    silent = json.loads(cluster.call(*cluster.words(env={"TRAIN": "silent"})).stdout)
    assert silent["reason"].startswith("exit status 0, but with 0 of 8 steps in the log")
    cluster.plays("stopped")
    words = cluster.words()
    words[words.index("--run-dir") + 1] += "-2"
    stopped = json.loads(cluster.call(*words).stdout)
    assert stopped["outcome"] == "failed"
    assert "the scheduler says STOPPED" in stopped["reason"]


def test_pods_without_a_node_are_told_and_end_as_a_failure(cluster: Cluster) -> None:
    cluster.plays("never")
    (cluster.kube / "pending-limit").write_text("2", encoding="utf-8")
    ran = cluster.call(*cluster.words())
    record = json.loads(ran.stdout)
    assert record["outcome"] == "failed"
    assert "FAILED (PreRunningDeadlineExceeded)" in record["reason"]
    assert "0 of 2 pods run; 0/20 nodes are available" in ran.stderr


def test_a_head_that_vanishes_leaves_the_log_so_far(cluster: Cluster) -> None:
    cluster.plays("vanish")
    ran = cluster.call(*cluster.words(env={"STEP_S": "0.4"}))
    record = json.loads(ran.stdout)
    assert record["outcome"] == "failed"
    assert "was ended before it could record its end" in record["reason"]
    assert "no pod of" in record["submission"]["ended_as"]
    assert "perf 0" in cluster.run.log.read_text(encoding="utf-8")


def test_a_job_that_kuberay_gave_up_is_asked_to_end_and_records_it(cluster: Cluster) -> None:
    cluster.plays("deadline")
    record = json.loads(cluster.call(*cluster.words(env={"TRAIN": "hang"})).stdout)
    assert (record["outcome"], record["job"]["signal"]) == ("interrupted", "TERM")
    assert record["submission"]["ended_as"] == "FAILED (DeadlineExceeded)"


def test_without_kubectl_and_with_a_refusal_nothing_is_created(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.plays("refuse")
    ran = cluster.call(*cluster.words())
    assert (ran.returncode, cluster.jobs()) == (3, [])
    assert "admission webhook denied" in ran.stderr
    assert cluster.run.record().outcome == "failed"
    (cluster.bin / "kubectl").unlink()
    monkeypatch.setenv("PATH", str(cluster.bin))
    words = cluster.words()
    words[words.index("--run-dir") + 1] += "-2"
    ran = cluster.call(*words)
    assert ran.returncode == 3
    assert "kubectl is not on PATH" in ran.stderr


def test_an_answer_that_is_lost_is_looked_for_and_creates_no_second_job(cluster: Cluster) -> None:
    cluster.plays("lost")
    record = json.loads(cluster.call(*cluster.words()).stdout)
    assert record["outcome"] == "completed"
    assert cluster.jobs() == [record["submission"]["id"]]


def test_an_answer_that_is_lost_without_a_job_is_a_run_that_was_not_created(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_job, "_UNDER_WAY_S", 1.0)
    cluster.plays("unsent")
    ran = cluster.call(*cluster.words())
    record = json.loads(ran.stdout)
    assert (record["outcome"], record["submission"]["ended_as"]) == ("failed", "NOT CREATED")
    assert "whether it was created is not known yet" in ran.stderr
    assert cluster.jobs() == []


def test_another_file_of_the_same_name_is_refused(cluster: Cluster) -> None:
    assert cluster.call(*cluster.words("--detach")).returncode == 0
    (config,) = (cluster.kube / "configs").glob("*.json")
    document = json.loads(config.read_text(encoding="utf-8"))
    document["data"]["entry.sh"] = "curl evil"
    config.write_text(json.dumps(document), encoding="utf-8")
    words = cluster.words()
    words[words.index("--run-dir") + 1] += "-2"
    ran = cluster.call(*words)
    assert ran.returncode == 1
    assert "target-config" in ran.stderr
    assert len(cluster.jobs()) == 1
    cluster.call("launch", "--stop", str(cluster.run.root))


def test_a_killed_harness_finds_its_job_again_and_a_second_submission_is_refused(cluster: Cluster) -> None:
    process = cluster.start(*cluster.words(env={"STEP_S": "0.4"}))
    log = cluster.folder / "run" / "log" / "train.log"
    until(lambda: log.exists() and b"perf 0" in log.read_bytes())
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (job,) = cluster.jobs()
    again = cluster.call(*cluster.words())
    assert again.returncode == 2
    assert "is not empty" in again.stderr
    (cluster.kube / "offline").touch()
    lost = cluster.call("launch", "--attach", str(cluster.run.root))
    assert lost.returncode == 3
    assert "Unable to connect" in lost.stderr
    assert cluster.run.record().outcome == "running"
    (cluster.kube / "offline").unlink()
    record = json.loads(cluster.call("launch", "--attach", str(cluster.run.root)).stdout)
    assert (record["outcome"], record["submission"]["id"]) == ("completed", job)
    assert cluster.jobs() == [job]
    assert cluster.run.log.read_bytes().count(b" - perf ") == 8


def test_a_connection_lost_in_the_middle_is_waited_for(cluster: Cluster) -> None:
    process = cluster.start(*cluster.words(env={"STEP_S": "0.3"}))
    until((cluster.kube / "now").exists)
    (cluster.kube / "offline").touch()
    time.sleep(1.5)
    assert process.poll() is None
    (cluster.kube / "offline").unlink()
    out, _ = process.communicate(timeout=60)
    assert json.loads(out)["outcome"] == "completed"


def test_a_detached_run_is_stopped_by_its_record_and_no_other_is_touched(cluster: Cluster) -> None:
    started = cluster.call(*cluster.words("--detach", env={"TRAIN": "hang"}))
    assert started.returncode == 0
    assert json.loads(started.stdout)["outcome"] == "running"
    until((cluster.kube / "now").exists)
    other = cluster.kube / "jobs" / "somebody-elses.json"
    other.write_text(json.dumps({"metadata": {"name": "somebody-elses"}}), encoding="utf-8")
    # Whatever cluster kubectl is turned to meanwhile: the run's own is asked.
    (cluster.kube / "context").write_text("two", encoding="utf-8")
    record = json.loads(cluster.call("launch", "--stop", str(cluster.run.root)).stdout)
    assert (record["outcome"], record["job"]["signal"]) == ("interrupted", "TERM")
    assert (cluster.jobs(), record["submission"]["cluster"]) == (["somebody-elses"], "one")
    assert b"perf 3" in cluster.run.log.read_bytes()


def test_a_failed_check_ends_the_run_before_it_trains_and_is_named(cluster: Cluster) -> None:
    ran = cluster.call(*cluster.words(preflight="block"))
    record = json.loads(ran.stdout)
    assert record["outcome"] == "failed"
    assert "the preflight: gpu-count on" in record["job"]["cause"]
    assert "the preflight: gpu-count on" in record["reason"]
    assert not (cluster.kube / "now").exists()
