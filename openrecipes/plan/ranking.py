"""What orders legal layouts: an estimate of their step beside ideal compute. It predicts no throughput."""

from dataclasses import dataclass
from typing import Final

from openrecipes.catalog.gpus import Gpu
from openrecipes.catalog.model_parts import Shape
from openrecipes.catalog.models import Model
from openrecipes.catalog.tensors import Role
from openrecipes.figures.mfu import FLOPS_PER_PARAM_PER_TOKEN
from openrecipes.plan.placement import Placement

EFFICIENCY: Final = 0.4
RANKING: Final = (
    "layouts that fit first, by the lowest cost; then the others, by their peak. Cost is an estimated step time in "
    "units of ideal compute (6N FLOPs a token at 0.4 of the dense BF16 peak): "
    "recomputation, delta nets that tp and cp ranks repeat, the pipeline's "
    "idle time, and all communication at the stated bandwidths as if none overlapped. Kernel efficiency, latency, "
    "uneven experts over time and host work are left out: it orders, it predicts no throughput, and near neighbours "
    "are equal"
)
# Gathers and scatters of hidden states over tensor-parallel ranks in a layer's parts: forward, backward.
_ATTENTION: Final = (2, 3)
_MLP: Final = (2, 3)
_DELTA_NET: Final = (1, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """Estimated time of a step in units of ideal compute, and what it consists of; they sum to `total`."""

    compute: float  # 6N, recomputation, and delta nets that every tensor- and context-parallel rank repeats
    tensor: float
    experts: float
    context: float
    pipeline: float  # idle time of the pipeline and what stages send
    data: float

    @property
    def total(self) -> float:
        """The sum, by which layouts are ordered."""
        return self.compute + self.tensor + self.experts + self.context + self.pipeline + self.data


@dataclass(frozen=True, kw_only=True, slots=True)
class Costs:
    """What the estimate needs of a model and a GPU."""

    shape: Shape
    parameters: int
    expert_parameters: int
    active: int
    delta_share: float
    full_layers: int
    delta_layers: int
    expert_layers: int
    imbalance: float
    per_node: int
    flops_per_s: float
    link_bytes_per_s: float
    network_bytes_per_s: float

    @classmethod
    def of(cls, model: Model, card: Gpu, imbalance: float) -> "Costs":
        """The figures of a model on a GPU; a GPU without a stated network counts as one of the links alone."""
        shape = model.shape
        tensors = model.tensors
        experts = sum(tensor.count for tensor in tensors if tensor.role is Role.ROUTED_EXPERT)
        delta = sum(tensor.active_count for tensor in tensors if tensor.role is Role.LINEAR_ATTENTION)
        link = (card.interconnect_gb_per_s.value if card.interconnect_gb_per_s else 100) * 1e9
        instance = card.instances[0] if card.instances else None
        network = instance.network_gbit_per_s.value * 1e9 / 8 / instance.gpus.value if instance else link
        return cls(
            shape=shape,
            parameters=model.params,
            expert_parameters=experts,
            active=model.active_params,
            delta_share=delta / model.active_params,
            full_layers=sum(1 for layer in shape.layers if layer.mixer != "linear_attention"),
            delta_layers=sum(1 for layer in shape.layers if layer.mixer == "linear_attention"),
            expert_layers=sum(1 for layer in shape.layers if layer.mlp == "moe"),
            imbalance=imbalance,
            per_node=card.per_node.value if card.per_node else 8,
            flops_per_s=EFFICIENCY * (card.peak_flops_per_s.value if card.peak_flops_per_s else 1e15),
            link_bytes_per_s=link,
            network_bytes_per_s=network,
        )

    def cost(self, placement: Placement) -> Cost:
        """The estimate for one layout."""
        tokens = placement.global_batch * placement.row_tokens / (placement.dp * placement.cp)
        ideal = FLOPS_PER_PARAM_PER_TOKEN * self.active * tokens / (placement.tp * placement.pp) / self.flops_per_s
        again = placement.recompute.granularity == "full"
        repeated = 1 + self.delta_share * (placement.tp * placement.cp - 1)
        compute = repeated * (4 / 3 if again else 1.0)
        tensor = self._tensor(placement, tokens, again=again) / ideal
        experts = self._experts(placement, tokens, again=again) / ideal
        context = self._context(placement, tokens) / ideal
        bubble = (placement.pp - 1) / (placement.vpp * placement.microbatches)
        sent = self._sent(placement, tokens) / ideal
        return Cost(
            compute=compute,
            tensor=tensor,
            experts=experts,
            context=context,
            pipeline=bubble * (compute + tensor + experts + context) + sent,
            data=self._data(placement) / ideal,
        )

    def _tensor(self, placement: Placement, tokens: float, *, again: bool) -> float:
        """Seconds of gathers and scatters of hidden states over tp."""
        shape, repeats = self.shape, 1 + again
        dense_mlps = len(shape.layers) - self.expert_layers
        mlps = dense_mlps + (self.expert_layers if shape.shared_expert_ffn_hidden_size else 0)
        counts = (
            self.full_layers * (repeats * _ATTENTION[0] + _ATTENTION[1])
            + self.delta_layers * (repeats * _DELTA_NET[0] + _DELTA_NET[1])
            + mlps * (repeats * _MLP[0] + _MLP[1])
        )
        moved = 2 * tokens * shape.hidden_size * (placement.tp - 1) / placement.tp
        return counts / placement.pp * moved / self._bandwidth(placement.tp)

    def _experts(self, placement: Placement, tokens: float, *, again: bool) -> float:
        """Seconds of dispatch and combine over ep, and of gathers over etp."""
        shape = self.shape
        copies = 2 * tokens / placement.tp * (shape.experts_per_token or 0) * shape.hidden_size * self.imbalance
        trips = self.expert_layers / placement.pp * (2 * (1 + again) + 2)
        group = placement.ep * placement.etp
        near = min(1.0, self.per_node / group)
        inside = copies * max(0.0, near - 1 / placement.ep) / self.link_bytes_per_s
        outside = copies * (1 - near) / self.network_bytes_per_s
        gathers = copies * (placement.etp - 1) / self.link_bytes_per_s
        return trips * (inside + outside + gathers)

    def _context(self, placement: Placement, tokens: float) -> float:
        """Seconds of keys and values around the ring, and of hidden states gathered for delta nets."""
        shape, others = self.shape, placement.cp - 1
        keys = 2 * shape.num_query_groups * shape.head_dim / placement.tp
        moved = self.full_layers * 3 * keys + self.delta_layers * shape.hidden_size
        return 2 * tokens * others * moved / placement.pp / self._bandwidth(placement.tp * placement.cp)

    def _sent(self, placement: Placement, tokens: float) -> float:
        """Seconds of hidden states and their gradients between stages."""
        if placement.pp == 1:
            return 0.0
        return 2 * placement.vpp * 2 * tokens / placement.tp * self.shape.hidden_size / self.network_bytes_per_s

    def _data(self, placement: Placement) -> float:
        """Seconds of reducing FP32 gradients and gathering BF16 weights once a step."""
        ranks = placement.dp * placement.cp
        dense = (self.parameters - self.expert_parameters) / (placement.tp * placement.pp)
        experts = self.expert_parameters / (placement.ep * placement.etp * placement.pp)
        seconds = 6 * dense * (ranks - 1) / ranks / self._bandwidth(placement.tp * ranks)
        copies = placement.edp
        return seconds + 6 * experts * (copies - 1) / copies / self._bandwidth(placement.ep * placement.etp * copies)

    def _bandwidth(self, span: int) -> float:
        """Bytes a second of a group whose ranks span so many neighbouring GPUs."""
        return self.link_bytes_per_s if span <= self.per_node else self.network_bytes_per_s
