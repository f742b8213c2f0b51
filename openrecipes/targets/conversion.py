"""How a model is laid over GPUs while its checkpoint is converted, and what disk and memory that takes."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from typing import Any, Final

from openrecipes.catalog.models import Model
from openrecipes.plan.parameters import model_parameters, stage_parameters
from openrecipes.plan.placement import Placement
from openrecipes.plan.search import published_choices
from openrecipes.render.argument import Argument

BYTES_PER_WEIGHT: Final = 2  # BF16: slime's default, and what the converter saves
# On a GPU beside the weights: the context, and the tensors that are taken apart at a time.
OVERHEAD_GIB: Final = 6.0
# On the disk beside the weights: the index, arguments, states of random generators, alignment.
_WORK_SHARE: Final = 0.02
_WORK_LEAST_BYTES: Final = 64 * 2**20
_GIB: Final = 2**30


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversion:
    """The nodes of a conversion, the GPUs of each, and the degrees of parallelism.

    `last_stage_layers` are those of the last pipeline stage; the others have equal numbers of the rest.
    `gib_per_gpu` is what the weights of the fullest rank take.
    """

    nodes: int
    gpus_per_node: int
    pp: int
    ep: int
    last_stage_layers: int
    gib_per_gpu: float

    @property
    def gpus(self) -> int:
        """All of them."""
        return self.nodes * self.gpus_per_node

    def arguments(self) -> Iterator[Argument]:
        """The flags that lay the model over the GPUs; none for one GPU."""
        if self.pp > 1:
            yield Argument(flag="--pipeline-model-parallel-size", values=(str(self.pp),), origin="conversion")
            last = str(self.last_stage_layers)
            yield Argument(flag="--decoder-last-pipeline-num-layers", values=(last,), origin="conversion")
        if self.ep > 1:
            yield Argument(flag="--expert-model-parallel-size", values=(str(self.ep),), origin="conversion")


@dataclass(frozen=True, kw_only=True, slots=True)
class DiskNeed:
    """Bytes of a preparation: read from the Hugging Face checkpoint, written, and free beside what is written."""

    hf_checkpoint_bytes: int
    torch_dist_bytes: int
    work_bytes: int

    @property
    def needed_bytes(self) -> int:
        """What must be free where the checkpoint is to lie; it is written under another name, and never twice."""
        return self.torch_dist_bytes + self.work_bytes

    def document(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "hf_checkpoint_bytes": self.hf_checkpoint_bytes,
            "torch_dist_bytes": self.torch_dist_bytes,
            "work_bytes": self.work_bytes,
            "needed_bytes": self.needed_bytes,
        }


def disk_need(model: Model, *, reads_weights: bool) -> DiskNeed:
    """The need of a model: every weight in BF16, and 2% (64 MiB at least) for what is stored beside them."""
    weights = model.params * BYTES_PER_WEIGHT
    work = max(_WORK_LEAST_BYTES, round(weights * _WORK_SHARE))
    return DiskNeed(hf_checkpoint_bytes=weights if reads_weights else 0, torch_dist_bytes=weights, work_bytes=work)


def laid_over(model: Model, nodes: int, gpus_per_node: int) -> Conversion | None:
    """The model over so many GPUs: as many pipeline stages as slime's converter takes, then experts over the rest.

    None where the converter takes no such number: more GPUs than layers, or no even split of the layers.
    Source: THUDM/slime a897e1f4, tools/convert_hf_to_torch_dist.py, get_args; it leaves whole copies where the
    stages do not use up the GPUs, and slime's own examples split the experts over them.
    """
    layers, world = len(model.shape.layers), nodes * gpus_per_node
    if world > layers:
        return None
    pp = world
    while (last := layers - -(-layers // pp) * (pp - 1)) <= 0:
        if pp % 2:
            return None
        pp //= 2
    ep = gcd(world // pp, model.shape.num_experts or 1)
    return Conversion(
        nodes=nodes,
        gpus_per_node=gpus_per_node,
        pp=pp,
        ep=ep,
        last_stage_layers=last,
        gib_per_gpu=_fullest_gib(model, world, pp, ep, last),
    )


def conversions(
    model: Model, usable_gib: float | None, *, nodes: range, gpus_per_node: tuple[int, ...]
) -> Iterator[Conversion]:
    """Every conversion on these numbers of nodes and of GPUs a node that has the memory for it, in their order."""
    for count in nodes:
        for gpus in gpus_per_node:
            found = laid_over(model, count, gpus)
            if found is not None and (usable_gib is None or found.gib_per_gpu + OVERHEAD_GIB <= usable_gib):
                yield found


def _fullest_gib(model: Model, world: int, pp: int, ep: int, last: int) -> float:
    """GiB of the weights on the rank that holds most."""
    layers = len(model.shape.layers)
    split = (*[(layers - last) // max(1, pp - 1)] * (pp - 1), last)
    placement = Placement(
        gpus=world,
        pp=pp,
        ep=ep,
        dp=world // pp,
        sequence_parallel=False,
        layer_split=split,
        dispatcher=None,
        row_tokens=1,
        max_tokens_per_gpu=1,
        global_batch=world // pp,
    )
    counts, choices = model_parameters(model), published_choices(model)
    most = max(stage_parameters(counts, placement, choices, stage).total for stage in range(pp))
    return most * BYTES_PER_WEIGHT / _GIB
