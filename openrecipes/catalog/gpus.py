"""GPUs: memory, peak, interconnect and the instances that hold them, read from gpus.yaml."""

import re
from functools import lru_cache
from typing import Literal

from pydantic import Field

from openrecipes.catalog.data_files import CatalogData, read_catalog_file
from openrecipes.catalog.facts import NumberFact, PairFact, TextFact, WholeFact
from openrecipes.problems import Place, Problem, UsageError


class Instance(CatalogData):
    """A machine that can be rented or bought with this GPU in it."""

    name: str = Field(description="The name as recipes write it, provider first: `AWS p5en.48xlarge`.")
    gpus: WholeFact = Field(description="GPUs in one instance.")
    network: TextFact = Field(description="Network between instances, with its kind.")
    network_gbit_per_s: WholeFact = Field(description="Network bandwidth of one instance in gigabits a second.")


class Gpu(CatalogData):
    """One kind of accelerator; `CPU` stands for runs without one, where a recipe's count means ranks."""

    name: str = Field(description="The name as a recipe's gpu.type writes it.")
    kind: Literal["gpu", "cpu"] = Field(description="`cpu` has no peak, no memory bound and no price.")
    memory_gb: WholeFact | None = Field(description="Memory as the vendor states it, in units of 10^9 bytes.")
    memory_mib: WholeFact | None = Field(description="Memory as nvidia-smi prints memory.total, in MiB.")
    compute_capability: PairFact | None = Field(description="CUDA compute capability, major and minor.")
    peak_flops_per_s: NumberFact | None = Field(description="Dense BF16 peak, FLOP/s; the denominator of MFU.")
    memory_bandwidth_bytes_per_s: NumberFact | None = Field(description="Memory bandwidth as stated, bytes/s.")
    interconnect: TextFact | None = Field(description="Links between the GPUs of a node.")
    interconnect_gb_per_s: WholeFact | None = Field(
        description="Bandwidth of those links a GPU and direction, in units of 10^9 bytes a second."
    )
    per_node: WholeFact | None = Field(description="GPUs that share one node's links.")
    instances: tuple[Instance, ...] = Field(description="Known machines with this GPU.")

    @property
    def usable_memory_gib(self) -> float | None:
        """Memory that software can see, GiB: memory_mib / 1024. This decides whether a layout fits."""
        return None if self.memory_mib is None else self.memory_mib.value / 1024


class _GpuFile(CatalogData):
    gpus: tuple[Gpu, ...]


@lru_cache(maxsize=1)
def all_gpus() -> tuple[Gpu, ...]:
    """Every GPU of the catalogue, in file order."""
    return read_catalog_file("gpus.yaml", _GpuFile).gpus


def gpu(name: str, *, key: str = "gpu.type") -> Gpu:
    """The GPU of this name, in upper or lower case; `key` is where it was written.

    Raises: UsageError naming the known ones.
    """
    found = find_gpu(name) or next((entry for entry in all_gpus() if entry.name.lower() == name.lower()), None)
    if found is not None:
        return found
    what, mend = unknown_gpu(name)
    raise UsageError(Problem(place=Place(key=key), rule="gpu-known", what=what, mend=mend))


def unknown_gpu(name: str) -> tuple[str, str]:
    """What to say of a name that is no GPU's, and what to write for it.

    A100 is one letter from H100 and another GPU: only a name that holds a known one (`NVIDIA-H200-SXM`) means it.
    """
    words = re.split(r"[^A-Z0-9]+", name.upper())
    known = [entry.name for entry in all_gpus()]
    meant = [one for one in known if one in words or one == "".join(words)]
    listed = f"one of {', '.join(known)}; another GPU is a new entry of openrecipes/catalog/gpus.yaml in a checkout"
    return f"{name} is not in the catalogue of GPUs", f"write {meant[0] if len(meant) == 1 else listed}"


def find_gpu(name: str) -> Gpu | None:
    """The GPU of this name, or None."""
    return next((entry for entry in all_gpus() if entry.name == name), None)


def find_instance(name: str) -> tuple[Gpu, Instance] | None:
    """The instance of this name with its GPU, or None."""
    for entry in all_gpus():
        for instance in entry.instances:
            if instance.name == name:
                return entry, instance
    return None
