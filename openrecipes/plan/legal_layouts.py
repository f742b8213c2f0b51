"""Every layout of a model on so many GPUs: the legal ones with their memory, the others with what excludes them.

Degrees are tried where they divide the GPUs; tp and etp within a node, where tensor parallelism is not hopeless. What
one degree alone makes illegal is listed once, not with every value of the others.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from openrecipes.catalog.model_parts import Shape
from openrecipes.layouts import batch_relations, degree_relations, stage_relations
from openrecipes.layouts.all_relations import ALL_RELATIONS
from openrecipes.layouts.relation import Case, Relation
from openrecipes.plan.placement import FULL, NO_RECOMPUTE, Placement, Recomputation

RECOMPUTES: Final[tuple[Recomputation, ...]] = (NO_RECOMPUTE, FULL)
_ALONE: Final[tuple[tuple[str, tuple[Relation, ...]], ...]] = (
    ("tp", (degree_relations.heads, degree_relations.query_groups)),
    ("pp", (stage_relations.layers,)),
    ("cp", (batch_relations.cp_rows,)),
    ("ep", (degree_relations.experts,)),
)
_ILLEGAL: Final = tuple(relation for relation in ALL_RELATIONS if relation.illegal)


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuCount:
    """GPUs, and how many share a node."""

    count: int
    per_node: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Rows of a step, and their length."""

    row_tokens: int
    global_batch: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A layout without a choice of recomputation, and why it is not legal."""

    placement: Placement
    why_not: tuple[str, ...]


def candidates(shape: Shape, gpus: GpuCount, batch: Batch) -> Iterator[Candidate]:
    """Every layout, in the order of its degrees; those that one degree alone excludes come first."""
    divisors = [n for n in range(1, gpus.count + 1) if gpus.count % n == 0]
    within_node = [n for n in divisors if n <= gpus.per_node]
    expert_degrees = divisors if shape.num_experts else [1]
    tried = {"tp": within_node, "pp": divisors, "cp": divisors, "ep": expert_degrees}
    good: dict[str, list[int]] = {}
    for name, relations in _ALONE:
        good[name] = []
        for degree in tried[name]:
            alone = _placement(gpus, batch, has_experts=bool(shape.num_experts), **{name: degree})
            why_not = _broken(alone, shape, gpus, batch, relations)
            if why_not:
                yield Candidate(placement=alone, why_not=why_not)
            else:
                good[name].append(degree)
    pairs = [(ep, etp) for ep in good["ep"] for etp in (within_node if shape.num_experts else [1])]
    for pp in good["pp"]:
        experts: list[tuple[int, int]] = []
        for ep, etp in pairs:
            alone = _placement(gpus, batch, has_experts=bool(shape.num_experts), pp=pp, ep=ep, etp=etp)
            why_not = _broken(alone, shape, gpus, batch, (degree_relations.expert_gpus,))
            if why_not:
                yield Candidate(placement=alone, why_not=why_not)
            else:
                experts.append((ep, etp))
        for vpp in _chunks(len(shape.layers) // pp, pp):
            yield from _of_stages(shape, gpus, batch, good, experts, pp=pp, vpp=vpp)


def _of_stages(
    shape: Shape,
    gpus: GpuCount,
    batch: Batch,
    good: dict[str, list[int]],
    experts: list[tuple[int, int]],
    *,
    pp: int,
    vpp: int,
) -> Iterator[Candidate]:
    for tp in good["tp"]:
        for cp in good["cp"]:
            if gpus.count % (tp * pp * cp):
                continue
            for ep, etp in experts:
                placement = _placement(
                    gpus, batch, has_experts=bool(shape.num_experts), tp=tp, pp=pp, vpp=vpp, cp=cp, ep=ep, etp=etp
                )
                why_not = _broken(placement, shape, gpus, batch, _ILLEGAL)
                yield Candidate(placement=placement, why_not=why_not)
                if why_not:
                    break  # the degrees of the experts were looked at before: no others mend it


def with_recompute(placement: Placement, recompute: Recomputation) -> Placement:
    """The same layout with another recomputation."""
    return replace(placement, recompute=recompute)


def _chunks(stage_layers: int, pp: int) -> list[int]:
    """Values of vpp that divide a stage's layers; 1 alone without a pipeline."""
    return [n for n in range(1, stage_layers + 1) if stage_layers % n == 0] if pp > 1 else [1]


def _placement(gpus: GpuCount, batch: Batch, *, has_experts: bool, **degrees: int) -> Placement:
    tp, pp, cp = (degrees.get(name, 1) for name in ("tp", "pp", "cp"))
    return Placement(
        gpus=gpus.count,
        tp=tp,
        pp=pp,
        vpp=degrees.get("vpp", 1),
        cp=cp,
        ep=degrees.get("ep", 1),
        etp=degrees.get("etp", 1),
        dp=max(1, gpus.count // (tp * pp * cp)),
        sequence_parallel=tp > 1,
        dispatcher="alltoall" if has_experts else None,
        row_tokens=batch.row_tokens,
        max_tokens_per_gpu=-(-batch.row_tokens // cp),
        global_batch=batch.global_batch,
        pad_multiplier=256,
    )


def _broken(
    placement: Placement, shape: Shape, gpus: GpuCount, batch: Batch, relations: tuple[Relation, ...]
) -> tuple[str, ...]:
    case = Case(gpu=gpus, workload=batch, layout=placement, shape=shape)
    return tuple(
        f"{broken.key}: {broken.what} [{relation.id}]" for relation in relations for broken in relation.find(case)
    )
