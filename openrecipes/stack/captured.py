"""The document that capture.py writes, as a model: `environment.json` of a run."""

import json
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class System(_Part):
    """Operating system."""

    name: str = Field(description="Distribution and release.")
    kernel: str = Field(description="Kernel and its release.")
    machine: str = Field(description="Processor architecture.")


class Processors(_Part):
    """The CPUs."""

    name: str = Field(description="Model name.")
    count: int | None = Field(description="Logical CPUs of the machine.")
    available: int | None = Field(description="Logical CPUs that this process may use.")


class Card(_Part):
    """One GPU as nvidia-smi lists it; null where it prints none."""

    index: int | None = Field(description="nvidia-smi's index.")
    name: str = Field(description="Product name: `NVIDIA H200`.")
    memory_mib: int | float | None = Field(description="memory.total. Unit: MiB.")
    driver: str = Field(description="Driver version.")
    vbios: str = Field(description="VBIOS version.")
    power_limit_w: int | float | None = Field(description="Power limit. Unit: W.")
    max_sm_clock_mhz: int | float | None = Field(description="Highest SM clock. Unit: MHz.")
    max_memory_clock_mhz: int | float | None = Field(default=None, description="Highest memory clock. Unit: MHz.")
    sm_clock_mhz: int | float | None = Field(default=None, description="SM clock as the job began. Unit: MHz.")
    default_power_limit_w: int | float | None = Field(default=None, description="Power limit as shipped. Unit: W.")
    ecc_mode: str | None = Field(default=None, description="Whether ECC is on: `Enabled`, `Disabled`.")
    ecc_uncorrected: int | float | None = Field(
        default=None, description="Uncorrected ECC errors since the driver was loaded."
    )
    mig_mode: str | None = Field(default=None, description="Whether MIG is on: `Enabled`, `Disabled`.")
    persistence_mode: str | None = Field(default=None, description="Whether the driver stays loaded.")
    compute_capability: str | None = Field(default=None, description="Compute capability: `9.0`.")
    nvlinks: int | None = Field(default=None, description="Active NVLinks.")
    nvlink_gb_per_s: float | None = Field(
        default=None, description="Rates of its active NVLinks together, one way. Unit: GB/s."
    )


class RdmaDevice(_Part):
    """One RDMA device."""

    device: str = Field(description="Kernel name: `rdmap16s27`, `mlx5_0`.")
    driver: str | None = Field(description="Kernel driver: `efa`, `mlx5_core`.")
    rate: str | None = Field(description="Rate of its first port as the kernel prints it: `200 Gb/sec (4X HDR)`.")


class NetworkSoftware(_Part):
    """What moves bytes between nodes, beside NCCL; null where it is not there."""

    efa_driver: str | None = Field(description="EFA kernel driver, as the kernel says.")
    efa_installer: str | None = Field(description="EFA installer.")
    libfabric: str | None = Field(description="libfabric, as fi_info says.")
    aws_ofi_nccl: str | None = Field(description="The aws-ofi-nccl plug-in, as its library says.")


class TorchDetails(_Part):
    """What PyTorch was built for and loaded."""

    cuda: str | None = Field(description="CUDA version of the build; null for a CPU build.")
    hip: str | None = Field(description="HIP version of the build; null where none.")
    git: str | None = Field(description="Commit of the build.")
    cudnn: int | None = Field(description="cuDNN version, as one number.")
    nccl: str | None = Field(description="Version of the NCCL library that is mapped into the process.")
    threads: int = Field(description="Threads of one process on the CPU.")
    nccl_printed: str | None = Field(
        default=None, description="The version as that library prints it: `2.28.9+cuda12.9`."
    )
    cuda_runtime: str | None = Field(default=None, description="CUDA runtime that is mapped into the process.")


class LoadedModule(_Part):
    """A module as it imported."""

    version: str | None = Field(default=None, description="Its __version__.")
    file: str | None = Field(default=None, description="The file it loaded from.")
    details: TorchDetails | None = Field(default=None, description="Only of torch.")


class Checkout(_Part):
    """A git checkout that the job used."""

    directory: str = Field(description="Its folder.")
    commit: str | None = Field(description="Full commit; null where git could not say.")
    changed: bool | None = Field(description="Whether tracked files differ from the commit.")
    diff_sha256: str | None = Field(
        default=None, description="sha256 of `git diff HEAD --binary`; null without local changes."
    )


class Checkouts(_Part):
    """The trainer's checkouts; null where none was named."""

    slime: Checkout | None = Field(description="slime.")
    megatron: Checkout | None = Field(description="Megatron-LM.")


class Captured(_Part):
    """What is installed and loaded on one machine."""

    schema_version: Literal[1] = Field(description="Version of this form.")
    captured_unix_s: float = Field(description="When. Unit: seconds since 1970, UTC.")
    host: str = Field(description="Host name.")
    system: System = Field(description="Operating system.")
    cpu: Processors = Field(description="CPUs.")
    memory_bytes: int | None = Field(description="Memory of the machine. Unit: bytes.")
    python: str = Field(description="Python version.")
    gpus: tuple[Card, ...] = Field(description="GPUs, in nvidia-smi's order.")
    driver: str | None = Field(description="GPU driver version.")
    cuda_driver: str | None = Field(description="Newest CUDA version that the driver supports.")
    nvlink_count: int = Field(description="References to NVLink in the topology: G x (G - 1) for G connected GPUs.")
    fabric: tuple[RdmaDevice, ...] = Field(description="RDMA devices.")
    network_software: NetworkSoftware | None = Field(default=None, description="EFA, libfabric, aws-ofi-nccl.")
    image: str | None = Field(default=None, description="Container image, by digest where its launch knows that.")
    installed: dict[str, str] = Field(description="Version by distribution, from package metadata.")
    loaded: dict[str, LoadedModule | None] = Field(description="Modules as imported; null is absent.")
    checkouts: Checkouts = Field(description="The trainer's checkouts.")
    variables: dict[str, str | None] = Field(description="The recipe's environment variables as the job saw them.")
    errors: dict[str, str] = Field(description="What could not be asked, and why.")

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """The model of what `capture.captured` returned."""
        return cls.model_validate_json(json.dumps(document))

    def version(self, module: str) -> str | None:
        """Version of a module as loaded, or None where it is absent or did not import."""
        found = self.loaded.get(module)
        return found.version if found else None
