"""The preflight's checks of what is installed: versions, libraries, commits, the image's contents. See preflight.py."""

import argparse
import ctypes
import ctypes.util
import hashlib
import importlib.util
import os
import platform
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from preflight_asking import Outcome, judged, output_of, read

# Where images keep the plugin by which NCCL speaks to EFA.
PLUGIN_FOLDERS = ("/opt/amazon/ofi-nccl/lib", "/opt/amazon/aws-ofi-nccl/lib", "/opt/aws-ofi-nccl/lib")
# Compared between nodes, whatever the recipe says.
DISTRIBUTIONS = ("ray", "flash-attn", "flash-linear-attention", "megatron-core", "transformers", "numpy")


def stack_checks(args: argparse.Namespace) -> Iterator[tuple[str, Outcome]]:
    """Every version with its name; those that a recipe states by --pin must be that."""
    pins = dict(text.partition("=")[::2] for text in args.pin)
    found = {"python": platform.python_version(), "cuda": torch_cuda(), "nccl": nccl()}
    for name in dict.fromkeys((*found, *DISTRIBUTIONS, *pins)):
        version = found[name] if name in found else distribution(name)
        if version is None and name not in pins:
            continue
        yield f"version {name}", pin_check(name, version, pins.get(name))
    if args.fabric == "efa":
        yield "nccl-plugin", plugin_check()
        text, failed = output_of("fi_info", "--version")
        said = re.search(r"libfabric: (\S+)", text)
        yield "version libfabric", ("skipped", None, failed or "fi_info says none") if not said else judged(said[1], [])
        driver = read(f"{args.sys}/module/efa/version")
        yield (
            "efa-driver",
            ("skipped", None, "the module does not say its version") if driver is None else judged(driver, []),
        )
    for text in args.commit:
        folder, _, wanted = text.rpartition("=")
        yield f"commit {folder}", commit_check(folder, wanted)
    yield "image-contents", contents_check()


def distribution(name: str) -> str | None:
    """Version of an installed distribution, without its build's name."""
    try:
        return metadata.version(name).partition("+")[0]
    except metadata.PackageNotFoundError:
        return None


def pin_check(name: str, found: str | None, wanted: str | None) -> Outcome:
    """That a version is the recipe's: `2.10` stands for every 2.10.x."""
    if found is None:
        return "fail", None, f"{name} is not installed, the recipe has {wanted}"
    same = wanted is None or found == wanted or found.startswith(f"{wanted}.")
    return judged(found, [] if same else [f"{name} {found}, the recipe has {wanted}"])


def torch_cuda() -> str | None:
    """The CUDA version that torch was built for, read and not imported."""
    spec = importlib.util.find_spec("torch")
    said = (
        re.search(r"^cuda\b[^=]*= '([0-9.]+)'", read(f"{Path(spec.origin).parent}/version.py") or "", re.M)
        if spec and spec.origin
        else None
    )
    return said[1] if said else None


def nccl() -> str | None:
    """The version that the NCCL library says of itself: that of torch's wheel, else the system's."""
    spec = importlib.util.find_spec("nvidia")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    own = [f"{folder}/nccl/lib/libnccl.so.2" for folder in folders]
    for path in [*(path for path in own if Path(path).exists()), ctypes.util.find_library("nccl")]:
        try:
            number = ctypes.c_int()
            if path is not None and ctypes.CDLL(path).ncclGetVersion(ctypes.byref(number)) == 0:
                value = number.value
                return f"{value // 10000}.{value % 10000 // 100}.{value % 100}"
        except (OSError, AttributeError):
            continue
    return None


def plugin_check() -> Outcome:
    """The plugin that lets NCCL use EFA: without it NCCL falls back to TCP and says nothing."""
    named = [f for f in os.environ.get("LD_LIBRARY_PATH", "").split(":") if f]
    for folder in (*named, *PLUGIN_FOLDERS):
        for path in sorted(Path(folder).glob("libnccl-net*.so*")):
            try:
                content = path.read_bytes()[: 64 * 2**20]
            except OSError:
                continue
            said = re.search(rb"aws-ofi-nccl[ /-]v?(\d+\.\d+(?:\.\d+)?)", content)
            value = {
                "path": str(path),
                "version": said[1].decode() if said else None,
                "sha256": hashlib.sha256(content).hexdigest(),
            }
            return judged(value, [])
    return "fail", None, "no libnccl-net.so on LD_LIBRARY_PATH or below /opt: NCCL would use TCP"


def commit_check(folder: str, wanted: str) -> Outcome:
    """That a checkout is the wanted commit, or has it below other commits; and what is changed in it."""
    git = ("git", "-c", f"safe.directory={folder}", "-C", folder)
    commit, failed = output_of(*git, "rev-parse", "HEAD")
    if failed:
        return "warn", None, f"no commit of {folder} is known: {failed}"
    changes, _ = output_of(*git, "diff", "HEAD", timeout_s=60)
    value = {
        "commit": commit.strip(),
        "changes_sha256": hashlib.sha256(changes.encode()).hexdigest() if changes else None,
    }
    if commit.startswith(wanted):
        return judged(value, [])
    _, failed = output_of(*git, "merge-base", "--is-ancestor", wanted, "HEAD")
    if failed:
        return "fail", value, f"{folder} is at {commit[:12]}, which does not come from the recipe's {wanted}"
    count, _ = output_of(*git, "rev-list", "--count", f"{wanted}..HEAD")
    return "warn", value, f"{folder} is at {commit[:12]}, {count.strip()} commits after the recipe's {wanted}"


def contents_check() -> Outcome:
    """A fingerprint of the image: its system and every installed distribution, to compare between nodes."""
    names = sorted({f"{d.metadata['Name']}=={d.version}" for d in metadata.distributions()})
    text = "\n".join([read("/etc/os-release") or "", *names])
    return judged({"distributions": len(names), "sha256": hashlib.sha256(text.encode()).hexdigest()}, [])
