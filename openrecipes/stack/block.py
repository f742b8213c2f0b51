"""A capture to the recipe's `stack` block, in the words that recipes use."""

import datetime
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from openrecipes.stack.captured import Captured, Card, Checkout, NetworkSoftware, TorchDetails


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
    cudnn: str | None
    flash_attention: str | None
    aws_ofi_nccl: str | None
    efa: str | None
    libfabric: str | None
    gpu_settings: str | None
    image: str | None
    os: str
    kernel: str


def stack_block(captured: Captured, how: str = "by openrecipes env") -> StackBlock:
    """The stack block of a machine; `how` says in `source` how it was captured."""
    torch = captured.loaded.get("torch")
    details = torch.details if torch else None
    moved = captured.network_software
    day = datetime.datetime.fromtimestamp(captured.captured_unix_s, datetime.UTC).date()
    return StackBlock(
        framework=_framework(captured),
        megatron_lm=_megatron(captured),
        transformer_engine=captured.version("transformer_engine"),
        pytorch=_pytorch(captured.version("torch"), details.cuda if details else None),
        cuda=details.cuda if details else None,
        nccl=_nccl(details) if details else None,
        deepep=captured.version("deep_ep") or captured.installed.get("deep-ep"),
        python=captured.python,
        network=_network(captured),
        source=f"captured {how} on {day.isoformat()}: versions as loaded",
        transformers=captured.version("transformers"),
        driver=captured.driver,
        cudnn=_cudnn(details.cudnn) if details and details.cudnn else None,
        flash_attention=captured.version("flash_attn") or captured.version("flash_attn_interface"),
        aws_ofi_nccl=moved.aws_ofi_nccl if moved else None,
        efa=_efa(moved) if moved else None,
        libfabric=moved.libfabric if moved else None,
        gpu_settings=_gpu_settings(captured.gpus),
        image=captured.image,
        os=captured.system.name,
        kernel=captured.system.kernel,
    )


def _nccl(details: TorchDetails) -> str | None:
    """`2.28.9 (CUDA 12.9 build)` where the library prints more than it answers."""
    release, _, build = (details.nccl_printed or "").partition("+cuda")
    return f"{release} (CUDA {build} build)" if build else details.nccl


def _cudnn(number: int) -> str:
    """91900 is 9.19.0; before release 9 the parts had one digit less."""
    major, rest = divmod(number, 10_000) if number >= 90_000 else divmod(number, 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def _efa(found: NetworkSoftware) -> str | None:
    named = {"driver": found.efa_driver, "installer": found.efa_installer}
    return ", ".join(f"{name} {version}" for name, version in named.items() if version) or None


def _gpu_settings(cards: Sequence[Card]) -> str | None:
    """`700 W, SM up to 1980 MHz, ECC Enabled, MIG Disabled, 18 NVLinks`; of unlike GPUs, each value."""
    parts = (
        _values((card.power_limit_w for card in cards), "{} W"),
        _values((card.max_sm_clock_mhz for card in cards), "SM up to {} MHz"),
        _values((card.max_memory_clock_mhz for card in cards), "memory up to {} MHz"),
        _values((card.ecc_mode for card in cards), "ECC {}"),
        _values((card.mig_mode for card in cards), "MIG {}"),
        _values((card.nvlinks for card in cards), "{} NVLinks"),
    )
    return ", ".join(part for part in parts if part) or None


def _values(values: Iterable[float | str | None], form: str) -> str | None:
    known = [f"{value:g}" if isinstance(value, int | float) else value for value in values if value is not None]
    return form.format(" and ".join(dict.fromkeys(known))) if known else None


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
    changes = f" (diff {checkout.diff_sha256[:8]})" if checkout.diff_sha256 else ""
    return f"commit {checkout.commit[:8]}" + (f" with local changes{changes}" if checkout.changed else "")


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
