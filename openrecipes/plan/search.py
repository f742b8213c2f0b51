"""Every layout of a model on so many GPUs, planned and ranked."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from openrecipes.catalog.gpus import Gpu, gpu
from openrecipes.catalog.models import Model, model
from openrecipes.plan.choices import Choices, choices_of
from openrecipes.plan.layout_plan import IMBALANCE, OVERHEAD_GIB, LayoutPlan
from openrecipes.plan.legal_layouts import RECOMPUTES, Batch, GpuCount, candidates, with_recompute
from openrecipes.plan.parameters import model_parameters
from openrecipes.plan.placement import Placement
from openrecipes.plan.planner import Planner
from openrecipes.plan.ranking import Cost, Costs
from openrecipes.problems import Place, Problem, UsageError, together
from openrecipes.render.training_arguments import default_lines

_MOST_TIMES: Final = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class RankedLayout:
    """A legal layout with the lightest recomputation that fits (else the full one), and its estimated cost.

    `peaks` has the worst stage's peak in GiB for each recomputation; `cost` orders layouts and predicts nothing.
    """

    plan: LayoutPlan
    peaks: Mapping[str, float]
    cost: Cost


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """All layouts: legal ones ranked, the others with what excludes them, and how often each relation did."""

    model: str
    gpu: str
    gpus: int
    batch: Batch
    usable_gib: float
    overhead_gib: float
    imbalance: float
    ranked: tuple[RankedLayout, ...]
    excluded: tuple[LayoutPlan, ...]
    reasons: Mapping[str, int]


def search(
    model_name: str,
    gpu_name: str,
    gpus: int,
    *,
    batch: Batch,
    imbalance: float = IMBALANCE,
    overhead_gib: float = OVERHEAD_GIB,
) -> Search:
    """Every layout with slime's published arguments: BF16, FP32 gradients, precision-aware distributed Adam.

    Raises: UsageError for a model or GPU that the catalogue lacks, or a GPU without memory to plan.
    """
    found, card = together(lambda: model(model_name), lambda: gpu(gpu_name, key="--gpu"))
    usable, per_node = _memory(card)
    planner = Planner(counts=model_parameters(found), choices=published_choices(found), imbalance=imbalance)
    costs = Costs.of(found, card, imbalance)
    ranked: list[RankedLayout] = []
    excluded: list[LayoutPlan] = []
    reasons: Counter[str] = Counter()
    for candidate in candidates(found.shape, GpuCount(count=gpus, per_node=per_node), batch):
        if candidate.why_not:
            excluded.append(LayoutPlan(placement=candidate.placement, why_not=candidate.why_not))
            reasons.update(reason.rpartition("[")[2].rstrip("]") for reason in candidate.why_not)
            continue
        ranked.append(_ranked(planner, costs, candidate.placement, usable, overhead_gib))
    return Search(
        model=found.name,
        gpu=card.name,
        gpus=gpus,
        batch=batch,
        usable_gib=usable,
        overhead_gib=overhead_gib,
        imbalance=imbalance,
        ranked=tuple(sorted(ranked, key=_order)),
        excluded=tuple(excluded),
        reasons=reasons,
    )


def published_choices(found: Model) -> Choices:
    """What the published arguments and the model's own decide about memory, with permute fusion for experts."""
    flags: dict[str, tuple[str, ...]] = {
        argument.flag: argument.values for line in default_lines() for argument in line.arguments
    }
    flags |= {argument.flag: argument.values for argument in found.architecture_arguments()}
    if found.shape.num_experts is not None:
        flags["--moe-permute-fusion"] = ()
    return choices_of(flags)


def _ranked(planner: Planner, costs: Costs, placement: Placement, usable: float, overhead_gib: float) -> RankedLayout:
    peaks: dict[str, float] = {}
    chosen: LayoutPlan | None = None
    for recompute in RECOMPUTES:
        place = with_recompute(placement, recompute)
        plan = LayoutPlan(
            placement=place,
            why_not=(),
            stages=planner.stages(place),
            usable_gib=usable,
            overhead_gib=overhead_gib,
        )
        peaks[recompute.granularity] = max(stage.peak for stage in plan.stages)
        if chosen is None or (plan.fits and not chosen.fits) or not (plan.fits or chosen.fits):
            chosen = plan
    assert chosen is not None
    return RankedLayout(plan=chosen, peaks=peaks, cost=costs.cost(chosen.placement))


def enough_gpus(found: Search) -> int | None:
    """The fewest GPUs, of 1, 2, 4 ... beyond those searched, on which a layout fits; None up to 16 times as many."""
    count = 1
    while count <= _MOST_TIMES * found.gpus:
        if count > found.gpus:
            wider = search(
                found.model,
                found.gpu,
                count,
                batch=found.batch,
                imbalance=found.imbalance,
                overhead_gib=found.overhead_gib,
            )
            if any(layout.plan.fits for layout in wider.ranked):
                return count
        count *= 2
    return None


def _order(layout: RankedLayout) -> tuple[object, ...]:
    """Those that fit first, by the lowest estimated cost; then the others, the nearest to fitting first."""
    worst = layout.plan.worst
    peak = worst.peak if worst else 0.0
    return (False, layout.cost.total, peak) if layout.plan.fits else (True, peak, layout.cost.total)


def _memory(card: Gpu) -> tuple[float, int]:
    if card.usable_memory_gib is None or card.per_node is None:
        what = f"{card.name} has no GPU memory to plan"
        raise UsageError(Problem(place=Place(key="--gpu"), rule="plan-gpu", what=what, mend="name a GPU, as H200"))
    return card.usable_memory_gib, card.per_node.value
