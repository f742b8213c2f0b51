"""A run starts only where every node reported, none failed, and all are alike."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from openrecipes.shipped import shipped

PROGRAM = shipped("launch", "preflight_verdict.py")


def _check(name: str, value: Any, status: str = "ok", why: str = "") -> dict[str, Any]:
    return {"name": name, "status": status, "value": value, "why": why}


def _node(folder: Path, host: str, *checks: dict[str, Any]) -> None:
    document = {"schema_version": 1, "host": host, "ok": True, "checks": list(checks)}
    (folder / f"{host}.json").write_text(json.dumps(document), encoding="utf-8")


def _verdict(folder: Path, nodes: int, *words: str) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, str(PROGRAM), str(folder), "--nodes", str(nodes), *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.returncode, json.loads(ran.stdout)


def test_equal_healthy_nodes_may_start(tmp_path: Path) -> None:
    for host in ("n1", "n2"):
        _node(tmp_path, host, _check("driver", "580"), _check("shared-memory", len(host)))
    status, found = _verdict(tmp_path, 2)
    assert (status, found["ok"], found["problems"]) == (0, True, [])
    assert [node["host"] for node in found["nodes"]] == ["n1", "n2"]


def test_a_warning_is_said_and_does_not_block(tmp_path: Path) -> None:
    _node(tmp_path, "n1", _check("numa-balancing", "1", "warn", "is on"))
    status, found = _verdict(tmp_path, 1)
    assert (status, found["ok"]) == (0, True)
    assert found["problems"] == [{"host": "n1", "check": "numa-balancing", "status": "warn", "why": "is on"}]


EQUAL = (
    *("driver", "vbios", "gpu-count", "gpu-model", "nvlink-count", "fabric-devices", "fabric-rates", "efa-driver"),
    *("nccl-plugin", "environment", "transparent-hugepages", "cpu-cores", "network", "image-contents"),
    *("version torch", "commit /slime", "file /rows", "rows /rows", "checkpoint /ckpt", "tokenizer /hf"),
)


@pytest.mark.parametrize("name", EQUAL)
def test_the_one_node_that_differs_is_named(tmp_path: Path, name: str) -> None:
    for host in ("n1", "n2", "n3"):
        _node(tmp_path, host, _check(name, "odd" if host == "n2" else "same"))
    status, found = _verdict(tmp_path, 3)
    assert status == 1
    assert [(p["host"], p["check"]) for p in found["problems"]] == [("n2", name)]


def test_what_may_differ_does(tmp_path: Path) -> None:
    for host in ("n1", "n2"):
        _node(tmp_path, host, _check("gpu-idle", host), _check("vbios", host, "skipped"))
    assert _verdict(tmp_path, 2)[0] == 0


def test_a_missing_node_a_failed_check_and_a_broken_report_block(tmp_path: Path) -> None:
    _node(tmp_path, "n1", _check("gpu-count", 7, "fail", "7 GPUs are visible"))
    (tmp_path / "n2.json").write_text("{", encoding="utf-8")
    (tmp_path / "n3.json").write_text('{"checks": [1]}', encoding="utf-8")
    status, found = _verdict(tmp_path, 2)
    assert status == 1
    assert {p["check"] for p in found["problems"]} == {"gpu-count", "nodes"}
    assert "1 of 2 nodes reported: n1" in found["problems"][1]["why"]


def test_it_waits_for_a_late_node(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAM), str(tmp_path), "--nodes", "1", "--within", "30"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as waiting:
        _node(tmp_path, "late", _check("driver", "580"))
        assert waiting.wait(40) == 0


def test_a_gpu_that_is_slower_than_all_nodes_gpus_is_named(tmp_path: Path) -> None:
    for host in ("n1", "n2", "n3"):
        _node(tmp_path, host, _check("gpu-matmul", [790.0, 640.0 if host == "n2" else 785.0]))
    status, found = _verdict(tmp_path, 3)
    assert status == 1
    assert [(p["host"], p["check"]) for p in found["problems"]] == [("n2", "gpu-matmul")]
    assert "GPU 1: 640 TFLOP/s" in found["problems"][0]["why"]


def test_one_line_says_which_checks_end_the_run_and_where(tmp_path: Path) -> None:
    for number in range(6):
        _node(
            tmp_path, f"n{number}", _check("memlock", 1, "fail", "not unlimited"), _check("clock", 1, "warn", "is not")
        )
    _node(tmp_path, "n6", _check("gpu-count", 7, "fail", "7 GPUs are visible"))
    command = [sys.executable, str(PROGRAM), str(tmp_path), "--nodes", "7", "-o", str(tmp_path / ".out")]
    said = subprocess.run([*command, "--blocks"], capture_output=True, text=True, check=False).stderr
    (line,) = [line for line in said.splitlines() if line.startswith("openrecipes: cause: ")]
    assert line.removeprefix("openrecipes: cause: ") == (
        "the preflight: memlock on n0, n1, n2 and 3 more (not unlimited), gpu-count on n6 (7 GPUs are visible)"
    )
    assert "openrecipes: cause" not in subprocess.run(command, capture_output=True, text=True, check=False).stderr
