"""Parameters that one rank holds, stage by stage: what tensor and expert parallelism split, and what they copy."""

from dataclasses import dataclass
from itertools import accumulate
from math import lcm, prod
from typing import Final

from openrecipes.catalog.model_parts import Layer, Shape
from openrecipes.catalog.models import Model
from openrecipes.catalog.tensors import Role, Tensor
from openrecipes.plan.choices import Choices
from openrecipes.plan.placement import Placement
from openrecipes.plan.sizes import padded_vocabulary

# On every tensor-parallel rank in full. slime's delta nets are Hugging Face modules, so they are too.
_COPIED: Final = frozenset({Role.NORM, Role.LINEAR_ATTENTION, Role.ROUTER})
_COPIED_NAMES: Final = ("q_a_proj.weight", "kv_a_proj_with_mqa.weight", "shared_expert_gate.weight")


@dataclass(frozen=True, kw_only=True, slots=True)
class StageParameters:
    """Parameters of one rank of a stage."""

    dense: int  # all but routed experts, embeddings included
    experts: int
    embeddings: int  # input embedding and LM head, part of dense
    has_embedding: bool

    @property
    def total(self) -> int:
        """All of them."""
        return self.dense + self.experts


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelParameters:
    """A model's shape, and running sums of the elements of its decoder layers over all ranks."""

    shape: Shape
    kinds: tuple[Layer, ...]  # distinct kinds of layer
    pattern: str  # the kind of each layer, a digit into `kinds`
    split: tuple[int, ...]
    copied: tuple[int, ...]
    experts: tuple[int, ...]
    last: int  # outside the layers, on the last stage: the final norm


def model_parameters(model: Model) -> ModelParameters:
    """Counts of a model's tensors by how they are split."""
    shape = model.shape
    number = len(shape.layers)
    split, copied, experts = [0] * number, [0] * number, [0] * number
    last = 0
    for tensor in model.tensors:
        size = prod(tensor.shape) * tensor.copies
        if not tensor.layers:
            last += size if tensor.role is Role.NORM else 0
            continue
        target = experts if tensor.role is Role.ROUTED_EXPERT else copied if _is_copied(tensor) else split
        for layer in tensor.layers:
            target[layer] += size
    kinds = tuple(dict.fromkeys(shape.layers))
    return ModelParameters(
        shape=shape,
        kinds=kinds,
        pattern="".join(str(kinds.index(layer)) for layer in shape.layers),
        split=_running_sums(split),
        copied=_running_sums(copied),
        experts=_running_sums(experts),
        last=last,
    )


def stage_parameters(counts: ModelParameters, placement: Placement, choices: Choices, stage: int) -> StageParameters:
    """What a rank of the stage holds.

    Tied embeddings are one tensor, which the last stage holds once more where it is not the first.
    """
    shape = counts.shape
    chunks = placement.stage_layers(len(shape.layers))[stage]
    split, copied, experts = (
        sum(sums[chunk[1]] - sums[chunk[0]] for chunk in chunks)
        for sums in (counts.split, counts.copied, counts.experts)
    )
    embedding = embedding_elements(shape, placement.tp, choices.vocab_multiple)
    is_first, is_last = stage == 0, stage == placement.pp - 1
    held = int(is_first) + int(is_last) - int(is_first and is_last and shape.tied_embeddings)
    return StageParameters(
        dense=split // placement.tp + copied + held * embedding + (counts.last if is_last else 0),
        experts=experts // (placement.ep * placement.etp),
        embeddings=held * embedding,
        has_embedding=held > 0,
    )


def embedding_elements(shape: Shape, tp: int, multiple: int) -> int:
    """Elements of one embedding on a rank."""
    return padded_vocabulary(shape.vocab_size, tp, multiple) // tp * shape.hidden_size


def buffer_elements(parameters: int, ranks: int) -> int:
    """Elements of a gradient buffer: padded so that each of the ranks gets an equal, aligned share.

    Source: Megatron-LM 1dcf0daf, core/distributed/param_and_grad_buffer.py, _pad_end_of_bucket_if_needed.
    """
    step = lcm(ranks, 128)
    return -(-parameters // step) * step


def fused_shapes(
    shape: Shape, placement: Placement, choices: Choices, mixers: frozenset[str]
) -> frozenset[tuple[int, int]]:
    """Distinct shapes of the weights whose gradient is accumulated in the GEMM, for a stage with these mixers."""
    hidden, tp = shape.hidden_size, placement.tp
    found: set[tuple[int, int]] = set()
    if "full_attention" in mixers:
        query = shape.num_attention_heads * shape.head_dim
        gate = query if choices.output_gate else 0
        found.add(((query + gate + 2 * shape.num_query_groups * shape.head_dim) // tp, hidden))
        found.add((hidden, query // tp))
    latent = shape.latent_attention
    if "latent_attention" in mixers and latent is not None:
        heads, rank = shape.num_attention_heads // tp, latent.q_lora_rank
        found.add((heads * shape.head_dim, rank or hidden))
        found.add((rank or 0, hidden))
        found.add((latent.kv_lora_rank + latent.qk_rope_head_dim, hidden))
        found.add((heads * (latent.qk_nope_head_dim + latent.v_head_dim), latent.kv_lora_rank))
        found.add((hidden, heads * latent.v_head_dim))
    for width in (
        (shape.ffn_hidden_size or 0) // tp,
        (shape.moe_ffn_hidden_size or 0) // placement.etp,
        (shape.shared_expert_ffn_hidden_size or 0) // tp,
    ):
        found |= {(2 * width, hidden), (hidden, width)}
    return frozenset(pair for pair in found if prod(pair))


def largest_tensor(shape: Shape, placement: Placement, choices: Choices, *, has_embedding: bool) -> int:
    """Elements of the largest tensor of a rank."""
    mixers = frozenset({"full_attention", "latent_attention"})
    embedding = embedding_elements(shape, placement.tp, choices.vocab_multiple) if has_embedding else 0
    return max(embedding, *map(prod, fused_shapes(shape, placement, choices, mixers)))


def _running_sums(counts: list[int]) -> tuple[int, ...]:
    return tuple(accumulate(counts, initial=0))


def _is_copied(tensor: Tensor) -> bool:
    return tensor.role in _COPIED or tensor.name.endswith(_COPIED_NAMES)
