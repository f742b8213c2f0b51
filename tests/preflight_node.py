"""A node made of files, for tests of the preflight: fake programs on PATH, folders in place of the kernel's."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

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
    "uncorrected_ever": "0",
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


@contextmanager
def loaded_program() -> Iterator[ModuleType]:
    """preflight.py as a module, what lies beside it on the path."""
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
        self.folder, self.program = folder, program
        self.bin, self.sys, self.shm = folder / "bin", folder / "sys", folder / "shm"
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
        self.write("sys/module/efa/version", "2.13.0g\n")
        self.write("sys/class/net/eth7/mtu", "9001\n")
        self.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
        self.write("proc/net/route", "Iface\tDestination\neth7\t00000000\t0100000A\n")
        self.write("lib/libnccl-net-ofi.so", "\0NET/OFI Initializing aws-ofi-nccl 1.16.3\0")
        self.put("docker", "#!/bin/sh\nexit 1\n")

    def write(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")

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
        version = "if [ \"$1\" = --version ]; then echo 'libfabric: 2.1.0amzn5.0'; exit; fi"
        self.put("fi_info", f"#!/bin/sh\n{version}\ncat <<'END'\n{lines}END\n")

    def report(self, *words: str) -> dict[str, dict[str, Any]]:
        """The checks by name."""
        fixed = [*("--gpus", "2", "--gpu", "H200", "--memory-mib", "143771", "--nvlinks", "18")]
        fixed += ["--fabric", "efa", "--devices", "16", "--attempts", "1", "--shm-gib", "0"]
        args = self.program.parsed(
            [*fixed, "--sys", str(self.sys), "--proc", str(self.folder / "proc"), "--shm", str(self.shm), *words]
        )
        return {check["name"]: check for check in self.program.report(args)["checks"]}
