"""Plans as plain data, for `--json`: keys are the recipe's own field names, sizes in GiB."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from openrecipes.plan.layout_plan import OVERHEAD, LayoutPlan, RecipePlan
from openrecipes.plan.placement import Recomputation
from openrecipes.plan.ranking import RANKING
from openrecipes.plan.search import RankedLayout, Search
from openrecipes.plan.stage_memory import StageMemory, Term

_DEGREES = ("tp", "pp", "vpp", "cp", "ep", "etp", "dp")


def recipe_document(plan: RecipePlan, *, imbalance: float) -> dict[str, Any]:
    """The plan of one recipe; every stage has its terms."""
    layout = _layout(plan.layout, plan.terms)
    layout["microbatches"] = plan.layout.placement.microbatches
    return {
        "model": plan.model,
        "gpu": plan.gpu,
        "gpus": plan.layout.placement.gpus,
        **_limits(plan.layout.usable_gib, plan.layout.overhead_gib, imbalance),
        "layouts": [layout],
        "megatron_estimate_gib": plan.megatron_estimate_gib,
        "notes": list(plan.notes),
    }


def search_document(found: Search) -> dict[str, Any]:
    """Every layout of a search: legal ones in their order, then the others."""
    return {
        "model": found.model,
        "gpu": found.gpu,
        "gpus": found.gpus,
        "row_tokens": found.batch.row_tokens,
        "global_batch": found.batch.global_batch,
        **_limits(found.usable_gib, found.overhead_gib, found.imbalance),
        "ranking": RANKING,
        "layouts": [*map(_ranked, found.ranked), *map(_layout, found.excluded)],
        "excluded": dict(found.reasons),
        "notes": [],
    }


def _limits(usable: float | None, overhead: float, imbalance: float) -> dict[str, Any]:
    return {
        "usable_memory_gib": usable,
        "overhead_gib": overhead,
        "overhead_note": OVERHEAD,
        "expert_imbalance": imbalance,
    }


def _ranked(layout: RankedLayout) -> dict[str, Any]:
    cost = {**asdict(layout.cost), "total": layout.cost.total}
    return _layout(layout.plan) | {"peak_by_recompute_gib": dict(layout.peaks), "cost": cost}


def _layout(plan: LayoutPlan, terms: tuple[tuple[Term, ...], ...] = ()) -> dict[str, Any]:
    placement = plan.placement
    degrees: Mapping[str, int] = {name: getattr(placement, name) for name in _DEGREES}
    worst = plan.worst
    return {
        **degrees,
        "legal": not plan.why_not,
        "why_not": "; ".join(plan.why_not) or None,
        "recompute": _recompute(placement.recompute) if worst else None,
        "stages": [_stage(stage, plan.overhead_gib, terms[stage.stage] if terms else None) for stage in plan.stages],
        "memory_gib": _memory(worst, plan.overhead_gib) if worst else None,
        "fits": plan.fits,
    }


def _stage(stage: StageMemory, overhead: float, terms: tuple[Term, ...] | None) -> dict[str, Any]:
    held = stage.parameters
    document = {
        "stage": stage.stage,
        "layers": stage.layers,
        "params": held.total,
        "params_of": {
            "dense": held.dense - held.embeddings,
            "experts": held.experts,
            "embeddings": held.embeddings,
        },
        "memory_gib": _memory(stage, overhead),
        "peak_at": stage.instant,
    }
    return document if terms is None else document | {"terms": [asdict(term) for term in terms]}


def _memory(stage: StageMemory, overhead: float) -> dict[str, float]:
    return {
        "weights": stage.weights,
        "gradients": stage.gradients,
        "optimizer": stage.optimizer,
        "activations": stage.activations,
        "overhead": overhead,
        "peak": stage.peak,
    }


def _recompute(recompute: Recomputation) -> str:
    if recompute.granularity == "selective":
        return f"selective ({', '.join(sorted(recompute.modules))})"
    if recompute.granularity == "full":
        return f"full ({recompute.method}, {recompute.num_layers})"
    return "none"
