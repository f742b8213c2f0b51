"""Which code can be tested on this machine: the GPU, the libraries, and what was asked for."""

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from openrecipes.correctness.component.frame import Bench, Component, Tier
from openrecipes.problems import OutsideError, Place, Problem, UsageError


class Device(StrEnum):
    """What a test runs on, as PyTorch names it."""

    CUDA = "cuda"
    CPU = "cpu"


# The module that a tier's code is in. Imported to find out: a library that is there but cannot be loaded is no use.
_MODULE: Final = {
    Tier.TRANSFORMER_ENGINE: "transformer_engine.pytorch",
    Tier.MEGATRON_CORE: "megatron.core.tensor_parallel",
    Tier.FLASH_LINEAR_ATTENTION: "fla.ops.gated_delta_rule",
    Tier.TORCH_GPU: "torch",
    Tier.TORCH_CPU: "torch",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Missing:
    """Why a tier cannot be tested here."""

    tier: Tier
    reason: str


def bench_for(component: Component, *, tier: Tier | None, device: Device | None) -> tuple[Bench, tuple[Missing, ...]]:
    """The bench asked for, or the best one here; and the better ones that were passed over, with the reason.

    The training stack's own code comes first, then PyTorch on the GPU, then on the CPU.
    Raises: UsageError if the component has no such tier or the tier no such device; OutsideError if it cannot run
    here.
    """
    _can_be_asked(component, tier, device)
    passed_over: list[Missing] = []
    for candidate in [tier] if tier else component.implementations:
        if device is not None and _device(candidate) != device:
            continue
        reason = _reason_against(candidate)
        if reason is None:
            return Bench(tier=candidate, device=_device(candidate).value), tuple(passed_over)
        passed_over.append(Missing(tier=candidate, reason=reason))
    asked = "tier" if tier else "device" if device else ""
    raise OutsideError(*(_cannot_run(missing, asked) for missing in passed_over))


def _can_be_asked(component: Component, tier: Tier | None, device: Device | None) -> None:
    if tier is not None and tier not in component.implementations:
        what = f"{tier}, but {component.name} has no such tier"
        raise _usage("tier", "component-tier", what, f"use one of {_list(component.implementations)}")
    if tier is not None and device is not None and _device(tier) != device:
        what = f"{device}, but tier {tier} runs on {_device(tier)}"
        raise _usage("device", "component-device", what, f"use --device {_device(tier)}, or another tier")


def _device(tier: Tier) -> Device:
    return Device.CPU if tier is Tier.TORCH_CPU else Device.CUDA


def _reason_against(tier: Tier) -> str | None:
    """Why the tier cannot run here, or None."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        return f"PyTorch cannot be imported ({error})"
    if _device(tier) is Device.CUDA and not torch.cuda.is_available():
        return "PyTorch sees no CUDA GPU"
    try:
        importlib.import_module(_MODULE[tier])
    # Whatever a broken installation raises while it loads: a missing symbol is an OSError, an old driver a
    # RuntimeError. Each means the same here.
    except Exception as error:
        return f"{_MODULE[tier]} cannot be imported ({type(error).__name__}: {error})"
    return None


def _cannot_run(missing: Missing, asked: str) -> Problem:
    mend = "run it on a GPU machine with the training stack, or leave --tier and --device out"
    if "PyTorch cannot" in missing.reason:
        mend = "install PyTorch: pip install 'openrecipes[smoke]'"
    return Problem(
        place=Place(key=asked), rule="component-runs", what=f"{missing.tier} cannot be tested here: {missing.reason}",
        mend=mend,
    )  # fmt: skip


def _usage(key: str, rule: str, what: str, mend: str) -> UsageError:
    return UsageError(Problem(place=Place(key=key), rule=rule, what=what, mend=mend))


def _list(tiers: Iterable[Tier]) -> str:
    return ", ".join(tiers)
