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
import hashlib
import json
import mmap
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
    "flash_attn_interface": ("flash-attn-3",),
    "deep_ep": ("deep-ep", "deep_ep"),
    "fla": ("flash-linear-attention",),
    "slime": ("slime",),
}
# What is asked of each GPU, by the name it gets here: what every driver knows, and what newer ones tell beside it.
GPU_FIELDS = {
    "index": "index", "name": "name", "memory_mib": "memory.total", "driver": "driver_version",
    "vbios": "vbios_version", "power_limit_w": "power.limit", "max_sm_clock_mhz": "clocks.max.sm",
}  # fmt: skip
MORE_GPU_FIELDS = {
    "max_memory_clock_mhz": "clocks.max.memory", "sm_clock_mhz": "clocks.current.sm",
    "default_power_limit_w": "power.default_limit", "ecc_mode": "ecc.mode.current",
    "ecc_uncorrected": "ecc.errors.uncorrected.volatile.total", "mig_mode": "mig.mode.current",
    "persistence_mode": "persistence_mode", "compute_capability": "compute_cap",
}  # fmt: skip
TEXTS = ("name", "driver", "vbios", "ecc_mode", "mig_mode", "persistence_mode", "compute_capability")
EFA_FOLDER = "/opt/amazon"
OFI_NCCL_FOLDERS = (
    "/opt/amazon/ofi-nccl/lib*",
    "/opt/amazon/ofi-nccl/lib/*",
    "/opt/aws-ofi-nccl/lib*",
    "/usr/local/lib",
)
# As the launch names the image: NAME@sha256:DIGEST, or a file and its hash; then what the runtimes set themselves.
IMAGE_VARIABLES = ("OPENRECIPES_IMAGE", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "SLURM_CONTAINER_IMAGE")

# Run by the child: imports what argv names, one JSON line each, so that a crash loses only the module it met.
LOADER = r"""
import ctypes, importlib, importlib.util, json, mmap, re, sys
def mapped(name):
    for line in open("/proc/self/maps"):
        if name in line:
            return line.split(None, 5)[-1].strip()
def asked(name, function):
    path, number = mapped(name), ctypes.c_int()
    return path and (getattr(ctypes.CDLL(path), function)(ctypes.byref(number)), number.value)[1]
def nccl_loaded():
    value = asked("libnccl.so", "ncclGetVersion")
    return value and f"{value // 10000}.{value % 10000 // 100}.{value % 100}"
def nccl_printed():
    path = mapped("libnccl.so")
    if path:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return (re.findall(rb"NCCL version (\d[\w.]*\+cuda\d[\d.]*)", data) or [b""])[0].decode() or None
def cuda_loaded():
    value = asked("libcudart.so", "cudaRuntimeGetVersion")
    return value and f"{value // 1000}.{value % 1000 // 10}"
def torch_details(torch):
    return {
        "cuda": torch.version.cuda, "hip": getattr(torch.version, "hip", None), "git": torch.version.git_version,
        "cudnn": torch.backends.cudnn.version(), "nccl": nccl_loaded(), "nccl_printed": nccl_printed(),
        "cuda_runtime": cuda_loaded(), "threads": torch.get_num_threads(),
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
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        return "", "not installed"
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)[:500]
    failed = None if ran.returncode == 0 else f"exit status {ran.returncode}: {ran.stderr.strip()[-300:]}"
    return ran.stdout, failed


def gpus(errors: dict[str, str]) -> list[dict[str, Any]]:
    """The GPUs that nvidia-smi lists, in its order; none where it is not installed."""
    for fields in ({**GPU_FIELDS, **MORE_GPU_FIELDS}, GPU_FIELDS):  # a field that is not known fails the whole question
        query = ",".join(fields.values())
        text, failed = output_of(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"])
        rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if len(row) == len(fields)]
        if rows and not failed:
            links = nvlinks()
            cards = [{name: reading(name, cell) for name, cell in zip(fields, row, strict=True)} for row in rows]
            return [{**card, **links.get(card["index"], {})} for card in cards]
    if failed and failed != "not installed":
        errors["nvidia-smi"] = failed
    return []


def reading(name: str, cell: str) -> Any:
    """A cell of nvidia-smi's table: text as such, a number, or None for `[N/A]`; what every driver knows stays text."""
    if name in TEXTS:
        return None if name in MORE_GPU_FIELDS and "N/A" in cell else cell
    return number(cell)


def nvlinks() -> dict[Any, dict[str, Any]]:
    """Active NVLinks of each GPU by its index, and their rates together in GB/s one way."""
    text, _ = output_of(["nvidia-smi", "nvlink", "--status"])
    found: dict[Any, dict[str, Any]] = {}
    for index, status in re.findall(r"^GPU (\d+):(.*(?:\n(?!GPU ).*)*)", text, re.MULTILINE):
        rates = [float(rate) for rate in re.findall(r"Link \d+: ([\d.]+) GB/s", status)]
        found[int(index)] = {"nvlinks": len(rates), "nvlink_gb_per_s": round(sum(rates), 3)}
    return found


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


def network_software() -> dict[str, str | None]:
    """EFA's kernel driver and installer, libfabric, and the aws-ofi-nccl plug-in, each as it says itself."""
    return {
        "efa_driver": read("/sys/module/efa/version"),
        "efa_installer": found_in(rb"EFA installer version: ([\w.+-]+)", [Path(EFA_FOLDER, "efa_installed_packages")]),
        "libfabric": libfabric(),
        "aws_ofi_nccl": found_in(rb"aws-ofi-nccl[ /-]v?(\d+\.\d+[\w.+-]*)", plugins()),
    }


def libfabric() -> str | None:
    """The libfabric that fi_info is linked with; EFA's own before the system's."""
    for program in (f"{EFA_FOLDER}/efa/bin/fi_info", "fi_info"):
        text, _ = output_of([program, "--version"])
        found = re.search(r"^libfabric: (\S+)$", text, re.MULTILINE)
        if found:
            return found[1]
    return None


def plugins() -> list[Path]:
    """The NCCL network plug-ins that a process here could load, those of LD_LIBRARY_PATH first."""
    folders = [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    folders += [found for pattern in OFI_NCCL_FOLDERS for found in sorted(Path("/").glob(pattern.lstrip("/")))]
    return [file for folder in folders for file in sorted(folder.glob("libnccl-net*.so*"))]


def found_in(pattern: bytes, files: list[Path]) -> str | None:
    """What the pattern's group says in the first of the files that holds it."""
    for file in files:
        with contextlib.suppress(OSError, ValueError), file.open("rb") as opened:
            match = re.search(pattern, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
            if match:
                return match[1].decode(errors="replace")
    return None


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
    changed = None if failed else bool(status.strip())
    found = {"directory": directory, "commit": commit.strip(), "changed": changed}
    return {**found, "diff_sha256": diff_sha256(git) if changed else None}


def diff_sha256(git: list[str]) -> str | None:
    """sha256 of what `git diff HEAD` prints: equal for equal local changes of tracked files."""
    command = [*git, "diff", "HEAD", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color"]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        ran = subprocess.run(command, capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
        return hashlib.sha256(ran.stdout).hexdigest() if ran.returncode == 0 else None
    return None


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
        "network_software": network_software(),
        "image": next((text for name in IMAGE_VARIABLES if (text := os.environ.get(name))), None),
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
