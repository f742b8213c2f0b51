"""What is installed and loaded on this machine, as one JSON document.

    python capture.py [-o FILE] [--variable NAME]... [--timeout SECONDS]

It runs inside the job, in whatever image that uses: the standard library only, Python 3.10 or newer, one file.
It asks and changes nothing. What is not there is null, what failed says how under `errors`. Modules are
imported in a child process, since the version that counts is the one that loads. SLIME_DIR and MEGATRON_DIR
name the checkouts whose commits are read; only the variables named by `--variable` are recorded.
"""

import argparse
import contextlib
import csv
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

# Module to import, and the distributions that may hold it.
MODULES = {
    "torch": ("torch",),
    "transformers": ("transformers",),
    "ray": ("ray",),
    "transformer_engine": ("transformer-engine", "transformer_engine"),
    "megatron.core": ("megatron-core",),
    "flash_attn": ("flash-attn",),
    "deep_ep": ("deep-ep", "deep_ep"),
    "fla": ("flash-linear-attention",),
    "slime": ("slime",),
}
GPU_FIELDS = ("index", "name", "memory.total", "driver_version", "vbios_version", "power.limit", "clocks.max.sm")

# Run by the child: imports what argv names, one JSON line each, so that a crash loses only the module it met.
LOADER = r"""
import importlib, importlib.util, json, sys
def nccl_loaded():
    import ctypes
    for line in open("/proc/self/maps"):
        if "libnccl.so" in line:
            number = ctypes.c_int()
            ctypes.CDLL(line.split(None, 5)[-1].strip()).ncclGetVersion(ctypes.byref(number))
            value = number.value
            return f"{value // 10000}.{value % 10000 // 100}.{value % 100}"
def torch_details(torch):
    return {
        "cuda": torch.version.cuda, "hip": getattr(torch.version, "hip", None), "git": torch.version.git_version,
        "cudnn": torch.backends.cudnn.version(), "nccl": nccl_loaded(), "threads": torch.get_num_threads(),
    }
for name in sys.argv[1:]:
    found = {"module": name}
    try:
        if importlib.util.find_spec(name.split(".")[0]) is not None:
            module = importlib.import_module(name)
            found["version"] = getattr(module, "__version__", None)
            found["file"] = getattr(module, "__file__", None)
            if name == "torch":
                found["details"] = torch_details(module)
        else:
            found["absent"] = True
    except BaseException as error:
        found["error"] = f"{type(error).__name__}: {error}"[:500]
    sys.__stdout__.write("\nCAPTURED " + json.dumps(found) + "\n")
    sys.__stdout__.flush()
"""


def output_of(command: list[str], timeout_s: float = 20) -> tuple[str, str | None]:
    """What a program prints, and why it failed (None where it did not)."""
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=False, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        return "", "not installed"
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)[:500]
    failed = None if ran.returncode == 0 else f"exit status {ran.returncode}: {ran.stderr.strip()[-300:]}"
    return ran.stdout, failed


def gpus(errors: dict[str, str]) -> list[dict[str, Any]]:
    """The GPUs that nvidia-smi lists, in its order; none where it is not installed."""
    text, failed = output_of(["nvidia-smi", f"--query-gpu={','.join(GPU_FIELDS)}", "--format=csv,noheader,nounits"])
    if failed:
        if failed != "not installed":
            errors["nvidia-smi"] = failed
        return []
    rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if len(row) == len(GPU_FIELDS)]
    return [
        {
            "index": number(index),
            "name": name,
            "memory_mib": number(memory),
            "driver": driver,
            "vbios": vbios,
            "power_limit_w": number(power),
            "max_sm_clock_mhz": number(clock),
        }
        for index, name, memory, driver, vbios, power, clock in rows
    ]


def number(text: str) -> float | int | None:
    """The number in a cell of nvidia-smi's table; None for `[N/A]`."""
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if value == int(value) else value


def nvlink_count() -> int:
    """References to NVLink in the machine's topology: G x (G - 1) for G GPUs all connected, 0 without any."""
    text, _ = output_of(["nvidia-smi", "topo", "-m"])
    return len(re.findall(r"\bNV[0-9]+\b", text))


def cuda_driver() -> str | None:
    """The newest CUDA version that the driver supports."""
    text, _ = output_of(["nvidia-smi"])
    found = re.search(r"CUDA Version:\s*([0-9.]+)", text)
    return found[1] if found else None


def read(path: str) -> str | None:
    """A small text file, stripped; None where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def processors() -> dict[str, Any]:
    """The CPU's name, how many there are, and how many this process may use."""
    names = re.findall(r"^model name\s*:\s*(.+)$", read("/proc/cpuinfo") or "", re.MULTILINE)
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "name": names[0] if names else platform.processor() or platform.machine(),
        "count": os.cpu_count(),
        "available": available,
    }


def memory_bytes() -> int | None:
    """Memory of the machine."""
    found = re.search(r"^MemTotal:\s*(\d+) kB$", read("/proc/meminfo") or "", re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def system() -> dict[str, Any]:
    """Operating system and kernel."""
    release = re.search(r'^PRETTY_NAME="?([^"\n]*)"?$', read("/etc/os-release") or "", re.MULTILINE)
    return {
        "name": release[1] if release else platform.system(),
        "kernel": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
    }


def fabric() -> list[dict[str, Any]]:
    """The RDMA devices (EFA, InfiniBand, RoCE) with their driver and rate."""
    found = []
    with contextlib.suppress(OSError):
        for device in sorted(Path("/sys/class/infiniband").iterdir()):
            driver = device / "device" / "driver"
            name = driver.resolve().name if driver.exists() else None
            found.append({"device": device.name, "driver": name, "rate": read(f"{device}/ports/1/rate")})
    return found


def installed() -> dict[str, str]:
    """Version of every distribution of interest, from its metadata."""
    names = [name for names in MODULES.values() for name in names]
    names += ["triton", "numpy", "pyarrow", "nvidia-nccl-cu12", "nvidia-nccl-cu13", "mbridge", "sglang"]
    found = {}
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name.replace("_", "-")] = metadata.version(name)
    return found


def loaded(timeout_s: float, errors: dict[str, str]) -> dict[str, Any]:
    """Version, file and details of every module that imports here; null where it is absent."""
    found: dict[str, Any] = {}
    left = list(MODULES)
    deadline = time.monotonic() + timeout_s
    while left:
        text, failed = import_in_child(left, max(1.0, deadline - time.monotonic()))
        for line in text.splitlines():
            if line.startswith("CAPTURED "):
                item = json.loads(line[len("CAPTURED ") :])
                name = item.pop("module")
                left.remove(name)
                if "error" in item:
                    errors[name] = item.pop("error")
                found[name] = None if item.pop("absent", False) else item or None
        if failed and left:
            errors[left[0]] = f"its import ended the process: {failed}"
            found[left.pop(0)] = None
        if time.monotonic() >= deadline:
            errors.update(dict.fromkeys(left, "not asked: out of time"))
            break
    return found


def import_in_child(names: list[str], timeout_s: float) -> tuple[str, str | None]:
    """What the importing child printed, kept also when it had to be ended."""
    # PYTHONSAFEPATH: a file in the current folder must not pass for a module.
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-c", LOADER, *names]
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(
            command, env=environment, stdout=out, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
        )
        try:
            status = child.wait(timeout_s)
            failed = None if status == 0 else f"exit status {status}"
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            failed = f"ended after {timeout_s:.0f} s"
        out.seek(0)
        return out.read(), failed


def checkout(directory: str | None, errors: dict[str, str]) -> dict[str, Any] | None:
    """Commit of a git checkout, and whether files differ from it."""
    if not directory:
        return None
    git = ["git", "-c", f"safe.directory={directory}", "-C", directory]
    commit, failed = output_of([*git, "rev-parse", "HEAD"])
    if failed:
        errors[directory] = f"no commit: {failed}"
        return {"directory": directory, "commit": None, "changed": None}
    status, failed = output_of([*git, "status", "--porcelain", "--untracked-files=no"], timeout_s=60)
    return {"directory": directory, "commit": commit.strip(), "changed": None if failed else bool(status.strip())}


def captured(variables: list[str], timeout_s: float) -> dict[str, Any]:
    """The whole document."""
    errors: dict[str, str] = {}
    cards = gpus(errors)
    return {
        "schema_version": 1,
        "captured_unix_s": time.time(),
        "host": platform.node(),
        "system": system(),
        "cpu": processors(),
        "memory_bytes": memory_bytes(),
        "python": platform.python_version(),
        "gpus": cards,
        "driver": cards[0]["driver"] if cards else None,
        "cuda_driver": cuda_driver() if cards else None,
        "nvlink_count": nvlink_count() if cards else 0,
        "fabric": fabric(),
        "installed": installed(),
        "loaded": loaded(timeout_s, errors),
        "checkouts": {
            "slime": checkout(os.environ.get("SLIME_DIR"), errors),
            "megatron": checkout(os.environ.get("MEGATRON_DIR"), errors),
        },
        "variables": {name: os.environ.get(name) for name in variables},
        "errors": errors,
    }


def source_text() -> str:
    """This file's own text: what is launched is what is read here."""
    return Path(__file__).read_text(encoding="utf-8")


def main() -> None:
    """Writes the document to a file, or to stdout."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: stdout)")
    parser.add_argument("--variable", action="append", default=[], help="environment variable to record")
    parser.add_argument("--timeout", type=float, default=120, help="most seconds that imports may take")
    args = parser.parse_args()
    text = json.dumps(captured(args.variable, args.timeout), indent=2) + "\n"
    if args.output is None:
        sys.stdout.write(text)
        return
    part = args.output.with_name(f".{args.output.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(args.output)


if __name__ == "__main__":
    main()
