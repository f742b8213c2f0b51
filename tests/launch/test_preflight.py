"""Each check passes on a healthy node, and each has a node that it fails on: its negative control."""

import hashlib
import importlib.util
import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from openrecipes.shipped import shipped

PROGRAM = shipped("launch", "preflight.py")
HEALTHY = {
    "name": "NVIDIA H200",
    "memory_mib": "143771",
    "used_mib": "4",
    "driver": "580.159.04",
    "vbios": "96.00.CE.00.01",
    "persistence": "Enabled",
    "mig": "Disabled",
    "mode": "Default",
    "ecc": "Enabled",
    "uncorrected": "0",
    "power_w": "700.00",
    "most_power_w": "700.00",
    "pcie_width": "16",
    "pcie_gen": "5",
    "most_pcie_gen": "5",
    "reasons": "0x0000000000000001",
}
SMI = """#!/bin/sh
case "$1 $2" in
--query-gpu=name*) f=cards ;;
--query-gpu=fabric*) f=fabric ;;
--query-gpu=gpu_rec*) f=recovery ;;
--query-remapped*) f=remapped ;;
--query-compute*) f=apps ;;
"nvlink -s") f=links ;;
"nvlink -e") f=errors ;;
"topo -m") f=topology ;;
*) echo "unknown $*" >&2; exit 2 ;;
esac
if [ -f "$0.$f.fails" ]; then cat "$0.$f.fails" >&2; exit 6; fi
cat "$0.$f"
"""


@pytest.fixture(scope="module")
def program() -> Iterator[ModuleType]:
    sys.path.insert(0, str(PROGRAM.parent))
    spec = importlib.util.spec_from_file_location("preflight", PROGRAM)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(PROGRAM.parent))


class Node:
    """A node made of files: fake programs on PATH, a folder for devices."""

    def __init__(self, folder: Path, program: ModuleType) -> None:
        self.bin, self.sys, self.shm, self.program = folder / "bin", folder / "sys", folder / "shm", program
        for path in (self.bin, self.sys / "class" / "infiniband", self.shm):
            path.mkdir(parents=True)
        self.put("nvidia-smi", SMI)
        self.cards()
        self.answer("fabric", "Completed, Success\n" * 2)
        self.answer("recovery", "None\nNone\n")
        self.answer("remapped", "0, No, No\n" * 2)
        self.answer("apps", "")
        links = "".join(f"\t Link {i}: 26.562 GB/s\n" for i in range(18))
        self.answer("links", f"GPU 0: NVIDIA H200 (UUID: x)\n{links}GPU 1: NVIDIA H200 (UUID: y)\n{links}")
        self.answer("errors", "GPU 0: NVIDIA H200\n\t Link 0: Replay Errors: 0\n\t Link 0: CRC Errors: 0\n")
        self.answer("topology", "\tGPU0\tGPU1\nGPU0\t X \tNV18\nGPU1\tNV18\t X \n")
        self.put("journalctl", "#!/bin/sh\necho 'kernel: hello'\n")
        self.devices(16)
        self.domains(16)

    def put(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text, encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def answer(self, what: str, text: str) -> None:
        (self.bin / f"nvidia-smi.{what}").write_text(text, encoding="utf-8")

    def cards(self, **second: str) -> None:
        """Two cards, the second with other cells."""
        rows = (HEALTHY, HEALTHY | second)
        self.answer("cards", "".join(", ".join(row.values()) + "\n" for row in rows))

    def devices(self, count: int, driver: str = "efa", rate: str = "200 Gb/sec (4X HDR)") -> None:
        (self.sys / driver).mkdir(exist_ok=True)
        for i in range(count):
            device = self.sys / "class" / "infiniband" / f"rdmap{i}s0"
            (device / "ports" / "1").mkdir(parents=True)
            (device / "ports" / "1" / "rate").write_text(rate, encoding="utf-8")
            (device / "device").mkdir()
            (device / "device" / "driver").symlink_to(self.sys / driver)

    def domains(self, count: int) -> None:
        lines = "".join(f"provider: efa\n    fabric: efa\n    domain: rdmap{i}s0-rdm\n" for i in range(count))
        self.put("fi_info", f"#!/bin/sh\ncat <<'END'\n{lines}END\n")

    def report(self, *words: str) -> dict[str, dict[str, Any]]:
        """The checks by name."""
        fixed = [*("--gpus", "2", "--gpu", "H200", "--memory-mib", "143771", "--nvlinks", "18")]
        fixed += ["--fabric", "efa", "--devices", "16", "--attempts", "1", "--shm-gib", "0"]
        args = self.program.parsed([*fixed, "--sys", str(self.sys), "--shm", str(self.shm), *words])
        return {check["name"]: check for check in self.program.report(args)["checks"]}


@pytest.fixture
def node(tmp_path: Path, program: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Node:
    made = Node(tmp_path / "node", program)
    monkeypatch.setenv("PATH", f"{made.bin}{os.pathsep}{os.environ['PATH']}")
    endless = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda _which: endless)
    return made


def test_a_healthy_node_fails_no_check(node: Node) -> None:
    found = node.report("--driver-at-least", "575.57")
    assert {name for name, check in found.items() if check["status"] == "fail"} == set()
    assert len(found) >= 28
    assert found["gpu-count"]["value"] == 2
    assert found["nvlink-links"]["value"] == [18, 18]
    assert found["efa-provider"]["value"] == 16
    assert found["gpu-recovery"]["status"] == "ok"


@pytest.mark.parametrize(
    ("check", "cell"),
    [
        ("driver", {"driver": "550.1"}),
        ("gpu-model", {"name": "NVIDIA H100 80GB HBM3"}),
        ("gpu-model", {"name": "NVIDIA GH200 480GB"}),
        ("gpu-memory", {"memory_mib": "97871"}),
        ("gpu-idle", {"used_mib": "9000"}),
        ("gpu-modes", {"mig": "Enabled"}),
        ("gpu-modes", {"mode": "Exclusive_Process"}),
        ("gpu-modes", {"ecc": "Disabled"}),
        ("gpu-persistence", {"persistence": "Disabled"}),
        ("gpu-memory-errors", {"uncorrected": "3"}),
        ("gpu-power-limit", {"power_w": "500.00"}),
        ("gpu-throttling", {"reasons": "0x0000000000000040"}),
        ("pcie-width", {"pcie_width": "8"}),
        ("pcie-generation", {"pcie_gen": "3"}),
    ],
)
def test_one_card_that_differs_is_named_by_its_check_alone(node: Node, check: str, cell: dict[str, str]) -> None:
    node.cards(**cell)
    found = node.report()
    wrong = {name: c for name, c in found.items() if c["status"] in ("fail", "warn") and name in node_checks()}
    assert set(wrong) == {check}
    assert "GPU 1" in wrong[check]["why"] or check == "driver"
    assert wrong[check]["status"] == ("warn" if check in ("gpu-persistence", "pcie-generation") else "fail")


def node_checks() -> set[str]:
    """The checks that the fake programs decide; limits and leftovers are this machine's own."""
    gpu = {"driver", "pcie-width", "pcie-generation", "kernel-log", "fabric-devices", "fabric-rates", "efa-provider"}
    names = ("count", "model", "memory", "idle", "modes", "persistence", "memory-errors", "throttling", "power-limit")
    links = {f"nvlink-{name}" for name in ("links", "errors", "fabric", "count")}
    return gpu | {f"gpu-{name}" for name in (*names, "recovery")} | links


@pytest.mark.parametrize(
    ("check", "what", "text", "words"),
    [
        ("gpu-count", "cards", ", ".join(HEALTHY.values()) + "\n", "1 GPUs are visible"),
        ("gpu-idle", "apps", "4711, 512\n", "process 4711"),
        ("gpu-memory-errors", "remapped", "0, No, No\n0, Yes, No\n", "GPU 1: remapped_rows.pending"),
        ("gpu-memory-errors", "remapped", "0, No, Yes\n0, No, No\n", "GPU 0: remapped_rows.failure"),
        ("gpu-recovery", "recovery", "None\nReset\n", "GPU 1: Reset"),
        (
            "nvlink-links",
            "links",
            "GPU 0: a\n\t Link 0: 26.562 GB/s\nGPU 1: b\n\t Link 0: <inactive>\n",
            "1 links of 18",
        ),
        ("nvlink-errors", "errors", "GPU 0: a\n\t Link 0: CRC Errors: 12\n", "12 errors"),
        ("nvlink-fabric", "fabric", "Completed, Success\nIn Progress, N/A\n", "GPU 1: fabric In Progress"),
        ("nvlink-count", "topology", "GPU0\t X \tPHB\n", "NVLINK_COUNT is 0"),
    ],
)
def test_what_nvidia_smi_tells_besides(node: Node, check: str, what: str, text: str, words: str) -> None:
    node.answer(what, text)
    found = node.report()
    assert found[check]["status"] == ("warn" if check == "nvlink-errors" else "fail")
    assert words.replace("fabric ", "") in found[check]["why"].replace("fabric ", "")


def test_a_driver_that_does_not_know_a_question_is_skipped_and_one_that_fails_is_not(node: Node) -> None:
    node.answer("recovery.fails", "Field is not a valid field to query")
    assert node.report()["gpu-recovery"]["status"] == "skipped"
    node.answer("cards.fails", "NVIDIA-SMI has failed because it couldn't communicate with the driver")
    found = node.report()
    assert found["gpu-count"]["status"] == "fail"
    assert "communicate" in found["gpu-count"]["why"]


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("NVRM: Xid (PCI:0000:04:00): 79, GPU has fallen off the bus.", "fail"),
        ("NVRM: Xid (PCI:0000:04:00): 145, RLW_REMAP", "fail"),
        ("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal", "fail"),
        ("NVRM: Xid (PCI:0000:04:00): 31, MMU Fault of a program", "ok"),
        ("xid 79 of somebody else", "ok"),
    ],
)
def test_gpu_errors_in_the_kernels_log(node: Node, line: str, status: str) -> None:
    node.put("journalctl", f"#!/bin/sh\necho '{line}'\n")
    assert node.report()["kernel-log"]["status"] == status


def test_a_kernel_log_that_cannot_be_read_is_not_a_good_one(node: Node) -> None:
    for name in ("journalctl", "dmesg"):
        node.put(name, "#!/bin/sh\nexit 1\n")
    assert node.report()["kernel-log"]["status"] == "skipped"


def test_missing_devices_and_a_provider_that_does_not_see_them(node: Node) -> None:
    assert node.report("--devices", "32")["fabric-devices"]["status"] == "fail"
    node.domains(15)
    found = node.report()
    assert (found["fabric-devices"]["status"], found["efa-provider"]["status"]) == ("ok", "fail")
    node.put("fi_info", "#!/bin/sh\necho 'fi_getinfo: -61 (No data available)' >&2; exit 61\n")
    assert "-61" in node.report()["efa-provider"]["why"]


def test_other_rdma_cards_are_no_efa_devices_and_rates_must_agree(node: Node) -> None:
    """On B200 nodes with mlx5 cards of the host: they do not count."""
    (node.sys / "mlx5_core").mkdir()
    for i in (0, 1):
        link = node.sys / "class" / "infiniband" / f"rdmap{i}s0" / "device" / "driver"
        link.unlink()
        link.symlink_to(node.sys / "mlx5_core")
    assert node.report()["fabric-devices"]["value"] == 14
    slow = node.sys / "class" / "infiniband" / "rdmap5s0" / "ports" / "1" / "rate"
    slow.write_text("100 Gb/sec", encoding="utf-8")
    assert node.report()["fabric-rates"]["status"] == "fail"


def test_limits_block_where_rdma_needs_them(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (65536, 65536))
    found = node.report("--nofile", "100000")
    assert (found["memlock"]["status"], found["nofile"]["status"]) == ("fail", "fail")
    without = node.report("--fabric", "none", "--nofile", "1024")
    assert (without["memlock"]["status"], without["nofile"]["status"]) == ("ok", "ok")
    assert without["fabric-devices"]["status"] == "skipped"


def test_shared_memory_hugepages_and_leftovers(node: Node) -> None:
    assert node.report("--shm-gib", "1e9")["shared-memory"]["status"] == "fail"
    assert node.report("--shm", str(node.shm / "absent"), "--shm-gib", "1")["shared-memory"]["status"] == "fail"
    assert node.report("--hugepages", str(10**9))["hugepages"]["status"] == "fail"
    (node.shm / "plasmaXy").touch()
    found = node.report()["leftovers"]
    assert found["status"] == "warn"
    assert "plasmaXy" in found["why"]


def test_folders_files_and_checkpoints(node: Node, tmp_path: Path) -> None:
    rows = tmp_path / "a=b.parquet"
    rows.write_bytes(b"rows")
    right = hashlib.sha256(b"rows").hexdigest()
    good = node.report("--disk", f"{tmp_path}=0.001", "--file", f"{rows}={right}")
    assert good[f"disk {tmp_path}"]["status"] == "ok"
    assert good[f"file {rows}"]["value"] == right
    assert list(tmp_path.glob(".openrecipes*")) == []
    bad = node.report(
        "--disk", f"{tmp_path}=1e12", "--disk", f"{tmp_path / 'absent'}=1", "--file", f"{rows}={'0' * 64}"
    )
    assert {c["status"] for name, c in bad.items() if name.startswith(("disk", "file"))} == {"fail"}
    assert node.report("--file", str(tmp_path / "absent"))[f"file {tmp_path / 'absent'}"]["status"] == "fail"


def test_a_checkpoint_without_its_tracker_or_its_shards_blocks(node: Node, tmp_path: Path) -> None:
    folder = tmp_path / "ckpt"
    (folder / "release").mkdir(parents=True)

    def status() -> str:
        return str(node.report("--checkpoint", str(folder))[f"checkpoint {folder}"]["status"])

    assert status() == "fail"
    (folder / "latest_checkpointed_iteration.txt").write_text("release\n", encoding="utf-8")
    assert status() == "fail"
    for name in (".metadata", "common.pt", "__0_0.distcp"):
        (folder / "release" / name).write_bytes(b"x")
    assert status() == "ok"
    (folder / "latest_checkpointed_iteration.txt").write_text("../release", encoding="utf-8")
    assert status() == "fail"


def test_ports_and_routes(node: Node) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        found = node.report("--port", str(port), "--reach", f"127.0.0.1:{port}")
        assert found[f"port {port}"]["status"] == "fail"
        assert found[f"reach 127.0.0.1:{port}"]["status"] == "ok"
    after = node.report("--port", str(port), "--reach", f"127.0.0.1:{port}", "--reach", "nonsense")
    assert after[f"port {port}"]["status"] == "ok"
    assert after[f"reach 127.0.0.1:{port}"]["status"] == "fail"
    assert after["reach nonsense"]["status"] == "fail"


def test_installed_versions_are_the_recipes(node: Node) -> None:
    import pydantic

    found = node.report("--pin", f"pydantic={pydantic.VERSION}", "--pin", "typer=0.0.1", "--pin", "absent=1")
    states = [found[f"version {name}"]["status"] for name in ("pydantic", "typer", "absent")]
    assert states == ["ok", "fail", "fail"]


def test_the_program_alone_writes_one_document_and_its_status_can_block(node: Node, tmp_path: Path) -> None:
    def run(*words: str) -> int:
        command = [sys.executable, str(PROGRAM), "--gpus", "2", "--nofile", "1", "--shm-gib", "0", *words]
        return subprocess.run(command, capture_output=True, check=False).returncode

    out = tmp_path / "node.json"
    assert run("-o", str(out)) == 0
    assert json.loads(out.read_text(encoding="utf-8"))["ok"] is True
    assert run("--gpu", "B200", "-o", str(out)) == 1
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["ok"] is False
    assert run("--gpu", "B200", "--report-only") == 0
    assert list(tmp_path.glob(".*.part")) == []


def test_every_check_has_a_negative_control_here(node: Node) -> None:
    """A check that is added without a node that fails it is found by its name's absence from this file."""
    text = Path(__file__).read_text(encoding="utf-8")
    known_without = {"vbios", "numa-balancing", "cpu-governor"}  # compared over nodes; the host's own settings
    names: Callable[[str], bool] = lambda name: f'"{name}"' in text  # noqa: E731
    missing = [name for name in node.report() if not names(name) and name not in known_without]
    assert missing == []
