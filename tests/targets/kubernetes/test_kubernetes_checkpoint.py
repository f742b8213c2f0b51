"""`checkpoint prepare` on Kubernetes: a RayJob of one pod, on a cluster that plays."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import called
import converter_stand_in
import jsonschema
import kubernetes_validate
import pytest
import yaml
from played_kubernetes import PlayedKubernetes
from rayjobs import pods, profile

from openrecipes.targets.fabric import Fabric
from openrecipes.targets.kubernetes_site import KubernetesSite
from openrecipes.targets.profile_schema import profile_text

RECIPE = "qwen3.5-moe-small/h200/openrecipes-tp2-ep2"
_BESIDE = Path(__file__).resolve().parents[4] / "shared" / "reference" / "kuberay-rayjob-v1.schema.json"
SCHEMA = next((p for p in (Path(os.environ.get("KUBERAY_SCHEMA", "/nowhere")), _BESIDE) if p.is_file()), None)
PYTHON = """#!/bin/bash
case "$1" in
  *ray_cluster.py) echo "Ray has 1 of 1 nodes" ;;
  *) exec "@PYTHON@" "$@" ;;
esac
"""


class Cluster(PlayedKubernetes):
    """With a converter that plays, a volume that only pods see under its name, and a profile."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, PYTHON.replace("@PYTHON@", str(converter_stand_in.install(folder))))

    def profile(self, *, read_only: bool = False, **env: str) -> Path:
        site = profile().kubernetes
        assert isinstance(site, KubernetesSite)
        volume = site.volumes[0].model_copy(update={"mount_path": "/far/my volume", "read_only": read_only})
        names = ("hf_checkpoint", "torch_dist", "runs", "slime")
        where = profile(
            python=str(self.folder / "python"),
            paths={name: f"/far/my volume/{name}" for name in names},
            kubernetes={"volumes": (volume,), "image": f"{site.image.partition('@')[0]}@sha256:{'7' * 64}"},
            join_seconds=20,
            fabric=Fabric(kind="none", devices_per_node=0),
            env={"WEIGHT_BYTES": str(2 * 748_976_096), **env},
        )
        path = self.folder / "cluster.yaml"
        path.write_text(profile_text(where), encoding="utf-8")
        return path

    def prepare(self, *more: str, **said: Any) -> called.Called:
        words = ("checkpoint", "prepare", RECIPE, "--cluster", str(self.profile(**said)), "--random", "--json", *more)
        return called.openrecipes(*words, folder=self.folder)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    for _ in made.called_from(monkeypatch):
        yield made


def test_one_pod_makes_it_on_the_volume_and_its_report_comes_here(cluster: Cluster) -> None:
    ran = cluster.prepare()
    said = json.loads(ran.stdout)
    assert (ran.returncode, said["state"]) == (0, "made"), ran.stderr
    assert (cluster.volume / "torch_dist" / "release" / "__0_0.distcp").exists()
    assert (cluster.volume / "hf_checkpoint" / "config.json").exists()
    assert said["disk"]["free_bytes"] > said["disk"]["needed_bytes"]
    record = json.loads((Path(said["run_dir"]) / "preparation.json").read_text(encoding="utf-8"))
    assert (record["outcome"], record["submission"]["ended_as"]) == ("completed", "SUCCEEDED")
    log = (Path(said["run_dir"]) / "log" / "train.log").read_text(encoding="utf-8")
    assert f"openrecipes: progress {cluster.volume}/torch_dist is whole, 1.4 GiB" in log
    again = json.loads(cluster.prepare().stdout)
    assert (again["state"], again["ok"]) == ("whole", True)


def test_a_failed_converter_is_a_failed_job(cluster: Cluster) -> None:
    ran = cluster.prepare(PLAY="die")
    said = json.loads(ran.stdout)
    assert (ran.returncode, said["state"]) == (3, "failed")
    assert "the converter failed" in said["problems"][0]["what"]
    assert not (cluster.volume / "torch_dist").exists()


def test_what_a_pod_refuses_is_a_problem_of_the_profile(cluster: Cluster) -> None:
    (cluster.volume / "torch_dist" / "mine").mkdir(parents=True)
    ran = cluster.prepare()
    (problem,) = json.loads(ran.stdout)["problems"]
    assert (ran.returncode, problem["rule"], problem["key"]) == (1, "checkpoint-exists", "paths.torch_dist")


def test_several_pods_make_one_checkpoint(cluster: Cluster) -> None:
    ran = cluster.prepare("--nodes", "4", "--gpus", "1")
    said = json.loads(ran.stdout)
    assert (ran.returncode, said["state"], said["nodes"]) == (0, "made", 4), ran.stderr
    found = [json.loads((cluster.volume / f"seen-{rank}.json").read_text(encoding="utf-8")) for rank in range(4)]
    argv = [one["argv"] for one in found]
    assert [words[words.index("--node-rank") + 1] for words in argv] == ["0", "1", "2", "3"]
    for name in ("--master-addr", "--master-port", "--nnodes", "--save", "--hf-checkpoint"):
        assert len({words[words.index(name) + 1] for words in argv}) == 1
    assert {one["env"]["CUDA_DEVICE_MAX_CONNECTIONS"] for one in found} == {"1"}
    assert len(list((cluster.volume / "torch_dist" / "release").glob("*.distcp"))) == 4
    assert (Path(said["run_dir"]) / "log" / "convert-node-3.log").exists()


def test_a_pod_that_fails_ends_the_others(cluster: Cluster) -> None:
    ran = cluster.prepare("--nodes", "2", "--gpus", "1", PLAY="die")
    (problem,) = json.loads(ran.stdout)["problems"]
    assert (ran.returncode, problem["rule"]) == (3, "checkpoint-made")
    assert "the converter ended on node-1 with exit status 9, see log/convert-node-1.log" in problem["what"]


def test_a_volume_that_cannot_be_written_is_refused(cluster: Cluster) -> None:
    ran = cluster.prepare(read_only=True)
    rules = {(problem["rule"], problem["key"]) for problem in json.loads(ran.stdout)["problems"]}
    assert ("target-mounted", "paths.torch_dist") in rules
    assert not (cluster.kube / "asked").exists()


@pytest.mark.skipif(SCHEMA is None, reason="KUBERAY_SCHEMA names no schema of RayJob")
def test_the_manifests_fit_their_schemas_and_ask_for_the_gpus_of_one_node(cluster: Cluster) -> None:
    files = {
        file["path"]: yaml.safe_load(file["text"]) for file in json.loads(cluster.prepare("--dry-run").stdout)["files"]
    }
    assert SCHEMA is not None
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(files["rayjob.yaml"])
    kubernetes_validate.validate(files["configmap.yaml"], "1.33", strict=True)
    (pod,) = pods(files["rayjob.yaml"])
    kubernetes_validate.validate(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": pod["spec"]}, "1.33", strict=True
    )
    limits = pod["spec"]["containers"][0]["resources"]["limits"]
    assert (
        limits["nvidia.com/gpu"]
        == files["rayjob.yaml"]["spec"]["rayClusterSpec"]["headGroupSpec"]["rayStartParams"]["num-gpus"]
    )


@pytest.mark.tool("shellcheck")
def test_scripts_are_sound_shell(cluster: Cluster, tmp_path: Path) -> None:
    for nodes, scripts in {"1": ["entry.sh", "node.sh"], "2": ["entry.sh", "node.sh", "worker.sh"]}.items():
        said = json.loads(cluster.prepare("--dry-run", "--nodes", nodes, "--gpus", "1").stdout)
        data = yaml.safe_load(said["files"][0]["text"])["data"]
        assert sorted(name for name in data if name.endswith(".sh")) == scripts
        for name in scripts:
            (tmp_path / name).write_text(data[name], encoding="utf-8")
            subprocess.run(["shellcheck", str(tmp_path / name)], check=True)
