"""The load of the GPUs: what it measures becomes checks, and each check has figures that fail it."""

import argparse
import importlib.util
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from openrecipes.shipped import shipped

FOLDER = shipped("launch", "preflight_load.py").parent
SMALL = ("--device=cpu", "--matmul-size=64", "--seconds=0.05", "--sizes", "65536", "--times=2", "--alltoall-bytes=4096")


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def load() -> Iterator[ModuleType]:
    sys.path.insert(0, str(FOLDER))
    yield _module("preflight_load")
    sys.path.remove(str(FOLDER))


def _run(*words: str) -> dict[str, Any]:
    command = [sys.executable, str(FOLDER / "preflight_load.py"), *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return dict(json.loads(ran.stdout))


@pytest.mark.tool("module:torch")
def test_two_ranks_multiply_and_speak_to_each_other() -> None:
    found = _run("--gpus", "2", *SMALL, "--bus-gb", "1e6")
    checks = {check["name"]: check for check in found["checks"]}
    assert checks["all-reduce-node"]["status"] == "fail"
    assert "not 1e+06" in checks["all-reduce-node"]["why"]
    assert checks["gpu-clocks-at-load"]["status"] == "skipped"
    assert len(checks["gpu-matmul"]["value"]) == 2
    assert found["measured"][0]["alltoall_group"] == 2


@pytest.mark.tool("module:torch")
def test_a_rank_that_does_not_come_fails_within_the_limit() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = (
        "--gpus",
        "1",
        "--nodes",
        "2",
        "--node",
        "0",
        "--master",
        f"127.0.0.1:{port}",
        "--no-matmul",
        "--limit",
        "4",
    )
    (check,) = _run(*words, *SMALL)["checks"]
    assert (check["name"], check["status"]) == ("gpu-load", "fail")


def test_without_torch_it_is_skipped_and_a_crash_is_not(load: ModuleType, monkeypatch: pytest.MonkeyPatch,
                                                        capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["load", "--gpus", "1"])
    for said, status in (("ModuleNotFoundError: No module named 'torch'", "skipped"), ("CUDA error: ECC", "fail")):
        monkeypatch.setattr(load, "ranks", lambda _args, said=said: ([], [], said))
        assert load.main() == 0
        (check,) = json.loads(capsys.readouterr().out)["checks"]
        assert (check["status"], check["why"]) == (status, said)


def test_a_slow_gpu_of_a_node_fails(load: ModuleType) -> None:
    rates = [{"matmul_tflops": rate} for rate in (790.0, 785.0, 600.0)]
    assert load.matmul_check(rates[:2])["status"] == "ok"
    assert "GPU 2: 600 TFLOP/s" in load.matmul_check(rates)["why"]


HEALTHY = {
    "index": "0", "utilisation": "100", "sm": "1700", "most_sm": "1980", "memory": "3201", "most_memory": "3201",
    "power_w": "690.1", "reasons": "0x0000000000000004",
    "pcie_gen": "5", "most_pcie_gen": "5", "temperature_c": "66",
}  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ({"sm": "1200"}, "SM clock 1200 of 1980"),
        ({"memory": "2619"}, "memory clock 2619 of 3201"),
        ({"reasons": "0x0000000000000040"}, "throttled"),
        ({"pcie_gen": "3"}, "PCIe generation 3 of 5"),
    ],
)
def test_clocks_at_load(load: ModuleType, cell: dict[str, str], words: str) -> None:
    assert load.clock_check([HEALTHY], 1)["status"] == "ok"
    wrong = load.clock_check([HEALTHY | cell], 1)
    assert wrong["status"] == "fail"
    assert words in wrong["why"]
    # Clocks of an idle GPU are low, and say nothing.
    assert load.clock_check([HEALTHY | cell | {"utilisation": "0"}], 1)["status"] == "skipped"


@pytest.fixture
def between(load: ModuleType) -> ModuleType:
    return _module("preflight_between")


def _args(**more: Any) -> argparse.Namespace:
    given = {"gpus": 8, "bus_gb": 0.0, "group": 8, "alltoall_bytes": 1, "load_option": [], "within": 1.0}
    return argparse.Namespace(**{**given, **more})


class Together:
    """Measurements by the nodes that take part: pairs with n2 are slow."""

    def __init__(self, rate: float) -> None:
        self.rate, self.asked = rate, []

    def __call__(
        self, _nodes: object, chosen: list[int], _args: object
    ) -> tuple[dict[str, Any], list[tuple[int, str]]]:
        self.asked.append(chosen)
        rate = self.rate if len(chosen) > 2 else 60.0 if 2 in chosen else 300.0
        return {"all_reduce_gb_s": {"1024": rate}, "alltoall_seconds": [1.0, 1.0, 2.5, 1.0], "alltoall_group": 8}, []


def _report(folder: Path, host: str, **values: object) -> None:
    checks = [{"name": name.replace("_", "-"), "status": "ok", "value": value} for name, value in values.items()]
    (folder / f"{host}.json").write_text(json.dumps({"host": host, "checks": checks}), encoding="utf-8")


def test_a_slow_network_is_told_by_pairs_and_a_slow_group_by_its_nodes(
    between: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hosts = ["n0", "n1", "n2", "n3"]
    for host in hosts:
        _report(tmp_path, host, fabric_rates=["200 Gb/sec (4X HDR)"], fabric_devices=16)
    assert between.line_gb(tmp_path) == 400
    together = Together(300.0)
    monkeypatch.setattr(between, "together", together)
    found = between.load_checks(None, hosts, _args(folder=tmp_path))
    wrong = [(host, check["name"]) for host, check in found if check["status"] == "fail"]
    assert wrong == [("n2", "alltoall 2")]
    assert together.asked == [[0, 1, 2, 3]]
    monkeypatch.setattr(between, "together", Together(200.0))
    found = between.load_checks(None, hosts, _args(folder=tmp_path))
    wrong = [(host, check["name"]) for host, check in found if check["status"] == "fail"]
    assert ("n0", "all-reduce") in wrong
    assert [host for host, name in wrong if name == "all-reduce-pair"] == ["n2"]


def test_a_node_that_fails_together_is_named(
    between: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(between, "together", lambda *_: ({}, [(1, "NCCL error")]))
    ((host, check),) = between.load_checks(None, ["n0", "n1"], _args(folder=tmp_path))
    assert (host, check["status"], check["why"]) == ("n1", "fail", "NCCL error")


class Nodes:
    """Nodes whose clocks are set: what asking them gives."""

    def __init__(self, clocks: dict[str, float], lost: dict[str, list[str]] | None = None) -> None:
        self.clocks, self.lost = clocks, lost or {}
        self.all = [{"NodeManagerAddress": host, "NodeManagerPort": 1} for host in clocks]

    def ask(self, work: Any, node: dict[str, Any], *_: Any) -> Any:
        host = node["NodeManagerAddress"]
        if work.__name__ == "reach":
            return self.lost.get(host, [])
        return {**work(), "host": host, "unix_s": work()["unix_s"] + self.clocks[host]}

    def answers(self, asked: list[Any], _within_s: float | None = None) -> list[Any]:
        return asked


def test_a_clock_that_is_off_and_a_route_that_is_closed(between: ModuleType) -> None:
    nodes = Nodes({"n0": 0.0, "n1": 0.0, "n2": -7.0}, {"n1": ["n2:1 (timed out)"]})
    clocks = between.clock_checks(nodes, 1.0)
    assert [(host, check["status"]) for host, check in clocks] == [("n0", "ok"), ("n1", "ok"), ("n2", "fail")]
    assert "-7.00 s" in clocks[2][1]["why"]
    routes = between.reach_checks(nodes, ["n0", "n1", "n2"])
    assert [(host, check["status"]) for host, check in routes] == [("n0", "ok"), ("n1", "fail"), ("n2", "ok")]


def test_only_nodes_that_reported_get_more_checks(between: ModuleType, tmp_path: Path) -> None:
    _report(tmp_path, "n0")
    (tmp_path / "n9.json").write_text("{", encoding="utf-8")
    between.add(tmp_path, [("n0", between.check("clock-skew", 9, ["off"])), ("n1", between.check("clock-skew", 0, []))])
    (document,) = [document for _, document in between.reports(tmp_path).values()]
    assert (document["ok"], [c["name"] for c in document["checks"]]) == (False, ["clock-skew"])
    assert not (tmp_path / "n1.json").exists()


def test_nodes_that_give_no_answer_fail(between: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**_: object) -> None:
        raise ConnectionError("no Ray at auto")

    monkeypatch.setitem(sys.modules, "ray", type("Ray", (), {"init": staticmethod(init)}))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "argv", ["between", str(tmp_path), "--most-skew", "1"])
    _report(tmp_path, "n0")
    assert between.main() == 0
    (document,) = [document for _, document in between.reports(tmp_path).values()]
    assert document["checks"][0]["name"] == "nodes-answer"
    assert document["ok"] is False


@pytest.mark.slow
@pytest.mark.tool("module:ray", "module:torch")
def test_two_real_nodes_of_ray_compare_clocks_routes_and_collectives(tmp_path: Path) -> None:
    _report(tmp_path, socket.gethostname())
    program = (
        "import subprocess, sys\n"
        "from ray.cluster_utils import Cluster\n"
        "node = {'num_cpus': 4, 'num_gpus': 2, 'object_store_memory': 80_000_000}\n"
        "cluster = Cluster(initialize_head=True, head_node_args={**node, 'include_dashboard': False})\n"
        "cluster.add_node(**node)\n"
        "cluster.wait_for_nodes()\n"
        "sys.exit(subprocess.call([sys.executable, *sys.argv[1:], '--address', cluster.address]))\n"
    )
    options = [f"--load-option={word}" for word in ("--device=cpu", "--sizes=65536", "--times=2")]
    between = [str(FOLDER / "preflight_between.py"), str(tmp_path), "--most-skew", "1"]
    words = [*between, "--load", "--gpus", "2", "--group", "2", *options]
    command = [sys.executable, "-c", program, *words, "--alltoall-bytes", "4096", "--bus-gb", "1e6"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    assert ran.returncode == 0, ran.stderr
    (path,) = tmp_path.glob("*.json")
    checks = {check["name"]: check["status"] for check in json.loads(path.read_text(encoding="utf-8"))["checks"]}
    assert checks["all-reduce"] == "fail"
    assert (checks["clock-skew"], checks["reach-nodes"]) == ("ok", "ok")
