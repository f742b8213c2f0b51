"""What must hold on this node before GPUs are spent on a run, as one JSON document.

    python preflight.py [-o FILE] [--gpus 8 --gpu H200 --memory-mib 143771] [--fabric efa --devices 16] …

Each check is {"name", "status", "value", "why"}: ok, warn (worth a look), fail (blocks), or skipped (not asked for, or
cannot be told here). Ends with 1 where a check fails, unless --report-only. It asks and changes nothing, but for a
file that it writes and removes in each --disk folder. The standard
library only, Python 3.10 or newer; preflight_gpus.py and preflight_asking.py lie beside it.
"""

import argparse
import contextlib
import hashlib
import json
import os
import platform
import re
import resource
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from preflight_asking import Outcome, judged, output_of, read
from preflight_gpus import gpu_checks, kernel_check

GIB = 2**30


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


def limit_checks(args: argparse.Namespace) -> Iterator[tuple[str, Outcome]]:
    """Limits, shared memory, hugepages, and settings of the host."""
    locked, files = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0], resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    unlimited = locked == resource.RLIM_INFINITY or locked >= 2**60
    needed = args.fabric != "none" and not unlimited
    yield (
        "memlock",
        judged("unlimited" if unlimited else locked, ["not unlimited: RDMA cannot register memory"] if needed else []),
    )
    few = files != resource.RLIM_INFINITY and files < args.nofile
    yield (
        "nofile",
        judged("unlimited" if files == resource.RLIM_INFINITY else files, [f"below {args.nofile}"] if few else []),
    )
    shm = shutil.disk_usage(args.shm).total / GIB if args.shm.is_dir() else 0.0
    yield (
        "shared-memory",
        judged(round(shm, 2), [f"{args.shm} is below {args.shm_gib:g} GiB"] if shm < args.shm_gib else []),
    )
    pages = re.search(r"^HugePages_Free:\s*(\d+)", read("/proc/meminfo") or "", re.M)
    free = int(pages[1]) if pages else 0
    yield "hugepages", judged(free, [f"{free} of 2 MiB free, not {args.hugepages}"] if free < args.hugepages else [])
    balancing = read("/proc/sys/kernel/numa_balancing")
    yield (
        "numa-balancing",
        judged(balancing, ["is on: pages move while GPUs copy"] if balancing == "1" else [], status="warn"),
    )
    governors = {read(str(p)) for p in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")}
    slow = sorted(str(g) for g in governors - {"performance"})
    yield (
        "cpu-governor",
        judged(sorted(map(str, governors)), [f"{', '.join(slow)}, not performance"] if slow else [], status="warn"),
    )


def disk_check(folder: Path, least_gb: float) -> Outcome:
    """Free space, free inodes, and a file written and removed."""
    try:
        usage, inodes = shutil.disk_usage(folder), os.statvfs(folder)
        probe = folder / f".openrecipes-preflight-{platform.node()}-{os.getpid()}"
        probe.write_bytes(b"0" * 4096)
        probe.unlink()
    except OSError as error:
        return "fail", None, f"{folder}: {error.strerror}"
    free = usage.free / 1e9
    wrong = [f"{folder} has {free:.1f} GB free, not {least_gb:g}"] if free < least_gb else []
    wrong += [f"{folder} has {inodes.f_favail} inodes free"] if inodes.f_files and inodes.f_favail < 1000 else []
    return judged(round(free, 1), wrong)


def file_check(path: Path, wanted: str | None) -> Outcome:
    """That a file is there, and holds the wanted bytes."""
    try:
        with path.open("rb") as file:
            found = hashlib.sha256()
            while piece := file.read(2**20):
                found.update(piece)
    except OSError as error:
        return "fail", None, f"{path}: {error.strerror}"
    differs = wanted is not None and found.hexdigest() != wanted
    return judged(found.hexdigest(), [f"{path} is another file: sha256 is not {wanted}"] if differs else [])


def checkpoint_check(folder: Path) -> Outcome:
    """A torch_dist checkpoint with its tracker: without it slime starts from random weights and says nothing."""
    step = read(f"{folder}/latest_checkpointed_iteration.txt")
    if step is None:
        return "fail", None, f"{folder} has no latest_checkpointed_iteration.txt: nothing would be loaded"
    inside = folder / (step if step == "release" else f"iter_{int(step):07d}" if step.isdigit() else "?")
    files = [p.stat().st_size for p in inside.glob("*") if p.is_file()] if inside.is_dir() else []
    value = {"iteration": step, "files": len(files), "bytes": sum(files)}
    whole = (inside / ".metadata").is_file() and any(inside.glob("*.distcp"))
    return judged(value, [] if whole else [f"{inside} holds no torch_dist shards"])


def port_check(port: int) -> Outcome:
    """That nothing listens on a port that the run will take."""
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            return "fail", port, f"port {port}: {error.strerror}"
    return "ok", port, ""


def reach_check(address: str, timeout_s: float = 5) -> Outcome:
    """That a host's port answers from here."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout_s):
            return "ok", address, ""
    except (OSError, ValueError, OverflowError) as error:
        return "fail", address, f"{address} is not reached: {error}"


def pin_check(name: str, wanted: str) -> Outcome:
    """That an installed distribution is the recipe's version."""
    try:
        found = metadata.version(name).partition("+")[0]
    except metadata.PackageNotFoundError:
        return "fail", None, f"{name} is not installed, the recipe has {wanted}"
    same = found == wanted or found.startswith(f"{wanted}.")
    return judged(found, [] if same else [f"{name} {found}, the recipe has {wanted}"])


def leftovers_check(shm: Path) -> Outcome:
    """Ray of an earlier run: reported, never ended, since it may be somebody's."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        command = (read(f"{folder}/comm") or "")[:15]
        if command in ("raylet", "gcs_server") or command.startswith("ray::"):
            found.append(f"{command} ({folder.name})")
    found += [path.name for path in shm.glob("plasma*")]
    return judged(
        sorted(found), [f"left from another run: {', '.join(sorted(found)[:10])}"] if found else [], status="warn"
    )


def checks(args: argparse.Namespace) -> Iterator[tuple[str, Outcome]]:
    """Every check with its name, in order."""
    if args.gpus:
        yield from gpu_checks(args)
        yield "kernel-log", kernel_check()
    yield from fabric_checks(args)
    yield from limit_checks(args)
    for text in args.disk:
        folder, _, least = text.rpartition("=")
        yield f"disk {folder}", disk_check(Path(folder), float(least))
    for text in args.file:
        hashed = re.fullmatch(r"(.*)=([0-9a-f]{64})", text, re.DOTALL)
        path, wanted = (hashed[1], hashed[2]) if hashed else (text, None)
        yield f"file {path}", file_check(Path(path), wanted)
    for text in args.checkpoint:
        yield f"checkpoint {text}", checkpoint_check(Path(text))
    for port in args.port:
        yield f"port {port}", port_check(port)
    for address in args.reach:
        yield f"reach {address}", reach_check(address)
    for text in args.pin:
        name, _, wanted = text.partition("=")
        yield f"version {name}", pin_check(name, wanted)
    if args.variable:
        yield "environment", judged({name: os.environ.get(name) for name in args.variable}, [])
    yield "leftovers", leftovers_check(args.shm)


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
    for name, what in {
        "disk": "FOLDER=GB free", "file": "PATH or PATH=SHA256", "checkpoint": "torch_dist FOLDER",
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
