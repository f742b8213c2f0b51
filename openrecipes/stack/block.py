"""A capture to the recipe's `stack` block, in the words that recipes use."""

import datetime
import re
from dataclasses import dataclass

from openrecipes.stack.captured import Captured, Checkout


@dataclass(frozen=True, kw_only=True, slots=True)
class StackBlock:
    """The fields of a recipe's `stack`, by the same names; None where a part is not there."""

    framework: str | None
    megatron_lm: str | None
    transformer_engine: str | None
    pytorch: str | None
    cuda: str | None
    nccl: str | None
    deepep: str | None
    python: str
    network: str | None
    source: str
    transformers: str | None
    driver: str | None


def stack_block(captured: Captured, how: str = "openrecipes env") -> StackBlock:
    """The stack block of a machine; `how` says in `source` who captured it."""
    torch = captured.loaded.get("torch")
    details = torch.details if torch else None
    day = datetime.datetime.fromtimestamp(captured.captured_unix_s, datetime.UTC).date()
    return StackBlock(
        framework=_framework(captured),
        megatron_lm=_megatron(captured),
        transformer_engine=captured.version("transformer_engine"),
        pytorch=_pytorch(captured.version("torch"), details.cuda if details else None),
        cuda=details.cuda if details else None,
        nccl=details.nccl if details else None,
        deepep=captured.version("deep_ep") or captured.installed.get("deep-ep"),
        python=captured.python,
        network=_network(captured),
        source=f"captured by {how} on {day.isoformat()}: versions as loaded",
        transformers=captured.version("transformers"),
        driver=captured.driver,
    )


def _framework(captured: Captured) -> str | None:
    version = captured.version("slime") or captured.installed.get("slime")
    commit = _commit(captured.checkouts.slime)
    if version is None and commit is None:
        return None
    return ": ".join(part for part in (f"slime {version}" if version else "slime", commit) if part)


def _megatron(captured: Captured) -> str | None:
    core = captured.version("megatron.core")
    commit = _commit(captured.checkouts.megatron)
    if commit is None:
        return f"megatron-core {core}" if core else None
    return f"{commit} (megatron-core {core})" if core else commit


def _commit(checkout: Checkout | None) -> str | None:
    if checkout is None or checkout.commit is None:
        return None
    return f"commit {checkout.commit[:8]}" + (" with local changes" if checkout.changed else "")


def _pytorch(version: str | None, cuda: str | None) -> str | None:
    """`2.13.0 (CUDA 12.9 build)`: the local part of the version (`+cu129`, `+cpu`) in words."""
    if version is None:
        return None
    public, _, local = version.partition("+")
    if cuda:
        return f"{public} (CUDA {cuda} build)"
    return f"{public} (CPU build)" if local in ("", "cpu") else version


def _network(captured: Captured) -> str | None:
    """`8 GPUs per node, EFA, 3.2 Tb/s RDMA per node`; None on a machine without GPU."""
    if not captured.gpus:
        return None
    count = len(captured.gpus)
    parts = [f"{count} GPU{'s' if count > 1 else ''} per node"]
    kinds = sorted({_FABRICS.get(device.driver or "", device.driver or "RDMA") for device in captured.fabric})
    rates = [re.match(r"(\d+(?:\.\d+)?) Gb/sec", device.rate or "") for device in captured.fabric]
    gigabits = sum(float(rate[1]) for rate in rates if rate)
    parts += [" and ".join(kinds)] if kinds else ["no RDMA devices"]
    if gigabits:
        terabits = f"{gigabits / 1000:g} Tb/s" if gigabits >= 1000 else f"{gigabits:g} Gb/s"
        parts.append(f"{terabits} RDMA per node")
    return ", ".join(parts)


_FABRICS = {"efa": "EFA", "mlx5_core": "InfiniBand or RoCE"}
