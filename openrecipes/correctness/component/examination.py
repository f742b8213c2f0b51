"""Runs one component test: the components by name, and a report with where, when and what it took."""

import datetime
import importlib
import platform
import sys
import time
from collections.abc import Callable
from typing import Final

from openrecipes.catalog.gpus import all_gpus
from openrecipes.correctness.component.frame import Bench, Circumstances, Component, Report
from openrecipes.correctness.component.subject import Subject
from openrecipes.problems import OutsideError, Place, Problem, UsageError, nearest

# Name, module and class. A module is imported when its component is asked for: they need PyTorch.
_COMPONENTS: Final = {
    "precision-aware-adam": ("precision_aware_adam", "PrecisionAwareAdam"),
    "moe-permute-fusion": ("moe_permute_fusion", "MoePermuteFusion"),
    "router": ("router", "Router"),
    "rms-norm": ("rms_norm", "RmsNorm"),
    "cross-entropy": ("cross_entropy", "CrossEntropy"),
    "gated-delta-net": ("gated_delta_net", "GatedDeltaNet"),
}
# Distributions and the module that shows they were really loaded.
_LIBRARIES: Final = {
    "torch": "torch",
    "transformer_engine": "transformer_engine",
    "megatron_core": "megatron.core",
    "fla": "fla",
    "triton": "triton",
}


def component_names() -> tuple[str, ...]:
    """Every component there is, in the order of the documentation."""
    return tuple(_COMPONENTS)


def component_named(name: str) -> Component:
    """The component of this name.

    Raises: UsageError naming the nearest known one; OutsideError where PyTorch is not installed.
    """
    if name not in _COMPONENTS:
        close = nearest(name, _COMPONENTS)
        mend = f"use {close}" if close else f"use one of {', '.join(_COMPONENTS)}"
        raise _problem(UsageError, "component-known", f"{name} is no component test", mend)
    module, kind = _COMPONENTS[name]
    try:
        importlib.import_module("torch")
    except ImportError as error:
        what = f"PyTorch cannot be imported ({error})"
        raise _problem(OutsideError, "component-runs", what, "install it: pip install 'openrecipes[smoke]'") from error
    found: Callable[[], Component] = getattr(importlib.import_module(f"{__package__}.{module}"), kind)
    return found()


def examined(component: Component, subject: Subject, bench: Bench, *, now: Callable[[], float] = time.time) -> Report:
    """The component's report at this bench."""
    import torch  # noqa: PLC0415  (names and reports must not need it)

    on_gpu = bench.device == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    started, day = time.perf_counter(), datetime.datetime.fromtimestamp(now(), datetime.UTC).date()
    threads = torch.get_num_threads()
    if not on_gpu:
        torch.set_num_threads(1)  # reduced shapes gain nothing from threads, and lose much where cores are busy
    try:
        findings = component.examine(subject, bench)
    finally:
        torch.set_num_threads(threads)
    if on_gpu:
        torch.cuda.synchronize()
    return Report(
        component=component.name,
        title=component.title,
        reference=component.reference,
        implementation=component.implementations[bench.tier],
        tier=bench.tier,
        findings=findings,
        circumstances=Circumstances(
            gpu=_gpu_name(torch.cuda.get_device_name()) if on_gpu else "none (CPU)",
            date=day,
            versions=_versions(),
            seconds=time.perf_counter() - started,
            peak_memory_bytes=torch.cuda.max_memory_allocated() if on_gpu else None,
        ),
    )


def _gpu_name(device_name: str) -> str:
    """The catalogue's name for what the driver calls `NVIDIA H200`, else the driver's own: the catalogue's are SXM."""
    words = device_name.replace("-", " ").split()
    known = next((gpu.name for gpu in all_gpus() if gpu.name in words), None)
    return known if known and not {"PCIe", "NVL"}.intersection(words) else device_name


def _versions() -> dict[str, str]:
    """Python, CUDA and the libraries that this test loaded, as each states its own version."""
    versions = {"python": platform.python_version()}
    for name, module in _LIBRARIES.items():
        loaded = sys.modules.get(module)
        if loaded is not None:
            versions[name] = str(getattr(loaded, "__version__", "unknown"))
    torch = sys.modules["torch"]
    if torch.version.cuda:
        versions["cuda"] = str(torch.version.cuda)
    return versions


def _problem(kind: type[UsageError | OutsideError], rule: str, what: str, mend: str) -> UsageError | OutsideError:
    return kind(Problem(place=Place(key="component"), rule=rule, what=what, mend=mend))
