"""The scripts of the pods, run here with a Ray and a trainer that play."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rayjobs import documents, launch, pods, profile, recipe

from openrecipes.targets.fabric import Fabric
from openrecipes.targets.kubernetes import KubernetesTarget

TRAINER = """import json, os, sys
json.dump(sys.argv[1:], open(os.environ["SEEN"], "w"))
print("step 0 done", flush=True)
sys.exit(int(os.environ.get("ENDS", "0")))
"""


class Pod:
    """A pod's files below a folder, with the scripts' fixed folder moved there."""

    def __init__(self, folder: Path, preflight: str = "block") -> None:
        self.root, self.seen = folder, folder / "seen.json"
        slime, self.here = folder / "my slime", folder / "openrecipes"
        for path in (slime, self.here, folder / "data", folder / "runs"):
            path.mkdir()
        (slime / "train_async.py").write_text(TRAINER, encoding="utf-8")
        volume = profile().kubernetes.volumes[0].model_copy(update={"mount_path": str(folder)})  # type: ignore[union-attr]
        paths = {"slime": str(slime), "runs": str(folder / "runs")}
        paths |= {name: str(folder / "data" / name) for name in ("hf_checkpoint", "torch_dist", "sft_data")}
        where = profile(
            paths=paths,
            kubernetes={"volumes": (volume,)},
            fabric=Fabric(kind="none", devices_per_node=0),
            join_seconds=1,
            preflight_load=False,
            preflight=preflight,
            python=sys.executable,
        )
        self.launch = launch(recipe(), where)
        config, job = documents(KubernetesTarget().render(self.launch))
        mounted = next(v["configMap"] for v in pods(job)[0]["spec"]["volumes"] if v["name"] == "launch")
        assert {item["key"] for item in mounted["items"]} == set(config["data"])
        for item in mounted["items"]:
            moved = config["data"][item["key"]].replace("here=/openrecipes", f"here='{self.here}'")
            (self.here / item["path"]).parent.mkdir(exist_ok=True)
            (self.here / item["path"]).write_text(moved, encoding="utf-8")
        (self.here / "ray_cluster.py").write_text("print('Ray has 16 nodes')\n", encoding="utf-8")
        (self.here / "preflight_between.py").write_text("", encoding="utf-8")
        capture = (
            "import json, os, sys\nsaid = {'image': os.environ['OPENRECIPES_IMAGE']}\n"
            "json.dump(said, open(sys.argv[sys.argv.index('-o') + 1], 'w'))\n"
        )
        (self.here / "capture_environment.py").write_text(capture, encoding="utf-8")
        self.run = folder / "runs" / "qwen-abcde-x1y2z"

    def bash(self, name: str, **more: str) -> "subprocess.CompletedProcess[str]":
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.root), "SEEN": str(self.seen), **more}
        return subprocess.run(
            ["bash", str(self.here / name)], env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    def node(self) -> "subprocess.CompletedProcess[str]":
        start = f"{sys.executable} -c pass"
        return self.bash("node.sh", OPENRECIPES_RAY_CLUSTER=self.run.name, KUBERAY_GEN_RAY_START_CMD=start)

    def entry(self, **more: str) -> "subprocess.CompletedProcess[str]":
        return self.bash("entry.sh", POD_RUN_DIR=str(self.run), **more)

    def reports(self, count: int, **odd: Any) -> None:
        """Healthy nodes in place of this machine's own report."""
        for path in (self.run / "preflight").glob("*"):
            path.unlink()
        for i in range(count):
            checks = [{"name": "driver", "status": "ok", "value": "580", "why": "", **(odd if i == 3 else {})}]
            text = json.dumps({"host": f"n{i}", "checks": checks})
            (self.run / "preflight" / f"n{i}.json").write_text(text, encoding="utf-8")

    def job(self) -> dict[str, Any]:
        return dict(json.loads((self.run / "job.json").read_bytes()))


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


def test_a_node_looks_at_itself_samples_its_gpus_and_starts_ray(pod: Pod) -> None:
    ran = pod.node()
    assert ran.returncode == 0, ran.stderr
    (report,) = (pod.run / "preflight").glob("*.json")
    checks = {c["name"]: c for c in json.loads(report.read_text(encoding="utf-8"))["checks"]}
    assert checks["environment"]["value"] == {"NCCL_NVLS_ENABLE": "0"}
    assert checks["gpu-count"]["status"] == "fail"


def test_a_run_trains_with_the_recipes_arguments_and_records_how_it_went(pod: Pod) -> None:
    pod.node()
    pod.reports(16)
    ran = pod.entry()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (pod.job()["exit_status"], pod.job()["signal"]) == (0, None)
    words = [w for a in pod.launch.command.arguments for w in a.argv]
    places = {"$HF_CKPT": "hf_checkpoint", "$TORCH_DIST": "torch_dist", "$SFT_DATA": "sft_data"}
    expected = [str(pod.root / "data" / places[w]) if w in places else w for w in words]
    assert json.loads(pod.seen.read_text(encoding="utf-8")) == expected
    assert "step 0 done" in ran.stdout
    assert "step 0 done" in (pod.run / "log" / "train.log").read_text(encoding="utf-8")
    captured = json.loads((pod.run / "environment.json").read_text(encoding="utf-8"))
    assert captured["image"] == pod.launch.profile.image == "openrecipes-train@sha256:" + "0" * 64


def test_the_trainers_exit_status_is_the_jobs(pod: Pod) -> None:
    pod.node()
    pod.reports(16)
    assert pod.entry(ENDS="7").returncode == 7
    assert pod.job()["exit_status"] == 7


@pytest.mark.parametrize(("count", "odd"), [(15, {}), (16, {"status": "fail"}), (16, {"value": "570"})])
def test_a_node_that_is_missing_fails_or_differs_ends_the_run_before_it_trains(
    pod: Pod, count: int, odd: dict[str, str]
) -> None:
    pod.node()
    pod.reports(count, **odd)
    assert pod.entry().returncode == 1
    assert pod.job()["exit_status"] == 1
    assert not pod.seen.exists()
    assert "preflight: " in (pod.run / "log" / "train.log").read_text(encoding="utf-8")


def test_a_run_directory_is_used_once(pod: Pod) -> None:
    pod.node()
    pod.reports(16)
    assert pod.entry().returncode == 0
    pod.seen.unlink()
    assert pod.entry().returncode == 2
    assert not pod.seen.exists()


@pytest.mark.parametrize(("mode", "words"), [("report", "the profile says to go on"), ("off", "step 0 done")])
def test_a_site_may_only_be_told_what_the_preflight_finds(tmp_path: Path, mode: str, words: str) -> None:
    pod = Pod(tmp_path, mode)
    assert pod.node().returncode == 0
    assert len(list((pod.run / "preflight").glob("*.json"))) == (1 if mode == "report" else 0)
    ran = pod.entry()
    assert ran.returncode == 0
    assert words in ran.stdout
    assert pod.seen.exists()
