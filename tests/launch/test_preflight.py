"""Each check passes on a healthy node, and each has a node that it fails on: its negative control."""

import hashlib
import json
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from preflight_node import HEALTHY, PROGRAM, Node

WARNS = ("gpu-persistence", "gpu-memory-history", "pcie-generation")


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
        ("gpu-memory-history", {"uncorrected_ever": "3"}),
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
    assert wrong[check]["status"] == ("warn" if check in WARNS else "fail")


def node_checks() -> set[str]:
    """The checks that the fake programs decide; limits and leftovers are this machine's own."""
    gpu = {"driver", "pcie-width", "pcie-generation", "kernel-log", "fabric-devices", "fabric-rates", "efa-provider"}
    names = (
        "count",
        "model",
        "memory",
        "idle",
        "modes",
        "persistence",
        "memory-errors",
        "memory-history",
        "throttling",
    )
    names = (*names, "power-limit")
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


def test_every_check_has_a_negative_control(node: Node) -> None:
    """A check that is added without a node that fails it is found by its name's absence from these files."""
    text = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_preflight*.py"))
    # The host's own settings, which no test can change.
    known_without = {"numa-balancing", "cpu-governor"}
    named = [name for name in node.report() if not name.startswith("version ")]
    missing = [name for name in named if f'"{name}"' not in text and name not in known_without]
    assert missing == []
