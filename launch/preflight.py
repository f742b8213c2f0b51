"""What must hold on this node before GPUs are spent on a run, as one JSON document.

    python preflight.py [-o FILE] [--gpus 8 --gpu H200 --memory-mib 143771] [--fabric efa --devices 16] …

Each check is {"name", "status", "value", "why"}: ok, warn (worth a look), fail (blocks), or skipped (not asked for, or
cannot be told here). Ends with 1 where a check fails, unless --report-only. It asks and changes nothing, but for a
file that it writes and removes in each --disk folder; with --load it works the GPUs for some seconds. The standard
library only, Python 3.10 or newer; preflight_*.py lie beside it.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# The folder of a run's rendered files holds what was rendered, and nothing else.
sys.dont_write_bytecode = True

from preflight_asking import Outcome, judged, output_of, read  # noqa: E402
from preflight_files import checkpoint_check, disk_check, file_check, rows_check, tokenizer_check, with_sha256  # noqa: E402
from preflight_gpus import gpu_checks, kernel_check  # noqa: E402
from preflight_host import clock_check, host_checks, leftovers_check, limit_checks, network_checks, reach_check  # noqa: E402
from preflight_stack import stack_checks  # noqa: E402

LOAD = Path(__file__).with_name("preflight_load.py")


def fabric_checks(args: argparse.Namespace) -> Iterator[tuple[str, Outcome]]:
    """RDMA devices, and for EFA whether libfabric sees each of them."""
    if args.fabric == "none":
        yield "fabric-devices", ("skipped", None, "no RDMA fabric is expected")
        return
    devices: list[Path] = []
    for attempt in range(args.attempts):  # EFA devices can appear late after a node has started
        if attempt:
            time.sleep(args.attempt_seconds)
        devices = sorted(args.sys.joinpath("class", "infiniband").glob("*"))
        devices = [d for d in devices if args.fabric != "efa" or (d / "device" / "driver").resolve().name == "efa"]
        if len(devices) >= args.devices:
            break
    found = f"{len(devices)} {args.fabric} devices, not {args.devices}"
    yield "fabric-devices", judged(len(devices), [found] if len(devices) != args.devices else [])
    rates = {read(f"{d}/ports/1/rate") for d in devices}
    yield "fabric-rates", judged(sorted(map(str, rates)), ["the devices' rates differ"] if len(rates) > 1 else [])
    if args.fabric == "efa":
        text, failed = output_of("fi_info", "-p", "efa", "-t", "FI_EP_RDM")
        domains = {line.split(":", 1)[1].strip() for line in text.splitlines() if line.strip().startswith("domain:")}
        wrong = [failed] if failed else [f"{len(domains)} RDM domains, not {args.devices}"]
        yield "efa-provider", judged(len(domains), wrong if failed or len(domains) < args.devices else [])


def file_checks(args: argparse.Namespace) -> Iterator[tuple[str, Outcome]]:
    """Disks, rows, checkpoint and tokenizer."""
    for text in args.disk:
        folder, _, least = text.rpartition("=")
        yield f"disk {folder}", disk_check(Path(folder), float(least))
    for text in args.file:
        path, wanted = with_sha256(text)
        yield f"file {path}", file_check(Path(path), wanted)
    for text in args.rows:
        path, wanted = with_sha256(text)
        yield f"rows {path}", rows_check(Path(path), wanted)
    for text in args.checkpoint:
        path, config = with_sha256(text)
        yield f"checkpoint {path}", checkpoint_check(Path(path), config)
    for text in args.tokenizer:
        path, wanted = with_sha256(text)
        yield f"tokenizer {path}", tokenizer_check(Path(path), wanted)


def load_checks(args: argparse.Namespace) -> Iterator[tuple[str, Outcome]]:
    """The GPUs at work: matrix products, clocks, collectives within the node. A program of its own, with torch."""
    command = (
        sys.executable,
        str(LOAD),
        "--gpus",
        str(args.gpus),
        "--bus-gb",
        str(args.node_bus_gb),
        *args.load_option,
    )
    text, failed = output_of(*command, timeout_s=args.load_seconds)
    try:
        document = json.loads(text)
    except ValueError:
        yield "gpu-load", ("fail", None, failed or "the load gave no answer")
        return
    for check in document["checks"]:
        yield check["name"], (check["status"], check["value"], check["why"])


def checks(args: argparse.Namespace) -> Iterator[tuple[str, Outcome]]:
    """Every check with its name, in order."""
    if args.gpus:
        yield from gpu_checks(args)
        yield "kernel-log", kernel_check()
    yield from fabric_checks(args)
    yield from limit_checks(args)
    yield from host_checks(args)
    yield "clock", clock_check()
    yield from network_checks(args)
    for address in args.reach:
        yield f"reach {address}", reach_check(address)
    yield from stack_checks(args)
    yield from file_checks(args)
    if args.variable:
        yield "environment", judged({name: os.environ.get(name) for name in args.variable}, [])
    yield "leftovers", leftovers_check(args.shm)
    if args.load:
        yield from load_checks(args)


def parsed(words: list[str] | None = None) -> argparse.Namespace:
    """What to check, and how strictly."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: stdout)")
    parser.add_argument(
        "--gpus", type=int, default=-1, help="GPUs of a node (default: as many as there are); 0 asks for none"
    )
    parser.add_argument("--gpu", help="GPU type, as in its product name: H200")
    parser.add_argument("--memory-mib", type=float, help="memory of a GPU; 3%% off is fine")
    parser.add_argument("--driver-at-least", help="oldest driver that runs the image's CUDA")
    parser.add_argument("--nvlinks", type=int, default=0, help="NVLink links of a GPU; 0 expects none")
    parser.add_argument("--fabric", choices=("efa", "infiniband", "roce", "none"), default="none")
    parser.add_argument("--devices", type=int, default=0, help="RDMA devices of a node")
    parser.add_argument("--attempts", type=int, default=3, help="looks at the devices before giving up")
    parser.add_argument("--attempt-seconds", type=float, default=5.0, help="wait between them")
    parser.add_argument("--nofile", type=int, default=65536, help="least open files (hard limit)")
    parser.add_argument("--shm-gib", type=float, default=16.0, help="least shared memory")
    parser.add_argument("--hugepages", type=int, default=0, help="least free hugepages of 2 MiB")
    parser.add_argument("--shm", type=Path, default=Path("/dev/shm"), help="folder of the shared memory")
    parser.add_argument("--sys", type=Path, default=Path("/sys"), help="folder of the devices")
    parser.add_argument("--proc", type=Path, default=Path("/proc"), help="folder of the kernel's own files")
    parser.add_argument("--cpus", type=int, default=1, help="least CPUs that may be used")
    parser.add_argument("--memory-gib", type=float, default=0.0, help="least memory that is free")
    parser.add_argument("--free-ports", type=int, default=16, help="least free ports of each range")
    parser.add_argument("--load", action="store_true", help="work the GPUs for some seconds")
    parser.add_argument("--load-seconds", type=float, default=300.0, help="longest time of that")
    parser.add_argument(
        "--load-option", action="append", default=[], help="option of preflight_load.py; may be repeated"
    )
    parser.add_argument("--node-bus-gb", type=float, default=0.0, help="least all-reduce bandwidth of a node, GB/s")
    for name, what in {
        "disk": "FOLDER=GB free", "file": "PATH or PATH=SHA256", "rows": "PATH=ROWS_SHA256",
        "checkpoint": "torch_dist FOLDER or FOLDER=CONFIG_SHA256", "tokenizer": "FOLDER or FOLDER=SHA256",
        "commit": "CHECKOUT=COMMIT", "port-range": "FIRST-LAST",
        "reach": "HOST:PORT", "pin": "DISTRIBUTION=VERSION", "variable": "environment variable to compare",
    }.items():  # fmt: skip
        parser.add_argument(f"--{name}", action="append", default=[], help=f"{what}; may be repeated")
    parser.add_argument("--port", type=int, action="append", default=[], help="port to be free; may be repeated")
    parser.add_argument("--report-only", action="store_true", help="end with 0 even where a check fails")
    return parser.parse_args(words)


def report(args: argparse.Namespace) -> dict[str, Any]:
    """The whole document."""
    started, found = time.time(), []
    for name, (status, value, why) in checks(args):
        found.append({"name": name, "status": status, "value": value, "why": why})
    return {
        "schema_version": 1, "host": platform.node(), "unix_s": started, "seconds": round(time.time() - started, 3),
        "ok": all(check["status"] != "fail" for check in found), "checks": found,
    }  # fmt: skip


def main() -> int:
    """Writes the document; 1 where a check fails."""
    args = parsed()
    document = report(args)
    text = json.dumps(document, indent=2) + "\n"
    if args.output is None:
        sys.stdout.write(text)
    else:
        part = args.output.with_name(f".{args.output.name}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(args.output)
    return 0 if document["ok"] or args.report_only else 1


if __name__ == "__main__":
    sys.exit(main())
