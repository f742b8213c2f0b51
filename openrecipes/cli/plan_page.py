"""A plan as a person reads it: the stages of a recipe's layout and the terms of the worst, or a ranking of layouts."""

from collections.abc import Iterator

from openrecipes import units
from openrecipes.cli.columns import beside, prose
from openrecipes.layouts.degrees import Degrees
from openrecipes.plan.layout_plan import OVERHEAD, LayoutPlan, RecipePlan
from openrecipes.plan.placement import Placement
from openrecipes.plan.ranking import RANKING
from openrecipes.plan.search import Search
from openrecipes.plan.stage_memory import StageMemory, Term

_SHOWN_FROM_GIB = 0.01
_TERM = 42


def recipe_page(plan: RecipePlan, *, imbalance: float) -> str:
    """Stage by stage, the worst stage's terms, and the verdict."""
    layout = plan.layout
    title = f"{plan.model} on {layout.placement.gpus} x {plan.gpu}: {_label(layout.placement)}"
    if layout.why_not:
        return "\n".join((title, "not legal:", *(f"  {reason}" for reason in layout.why_not)))
    worst = layout.worst
    assert worst is not None
    lines = [title, "", *_stages(layout.stages), ""]
    lines += [f"stage {worst.stage} at its peak ({worst.instant}), GiB:", *_terms(plan.terms[worst.stage]), ""]
    if plan.megatron_estimate_gib is not None:
        lines += prose(
            f"Megatron-LM's own estimate of the first stage, which knows no recomputation and one copy of the logits: "
            f"{plan.megatron_estimate_gib:.1f} GiB"
        ).splitlines()
    if layout.placement.ep > 1:
        lines.append(f"expert imbalance {imbalance:g}: tokens of the most loaded rank over the mean")
    lines += [prose(f"overhead: {OVERHEAD}."), "", _verdict(layout, worst)]
    return "\n".join(lines)


def search_page(found: Search, limit: int) -> str:
    """The first layouts of the ranking, and what ruled out the others."""
    fitting = sum(1 for layout in found.ranked if layout.plan.fits)
    lines = [
        prose(
            f"{found.model} on {found.gpus} x {found.gpu}, rows of {units.counted(found.batch.row_tokens, 'token')}, "
            f"{found.batch.global_batch} a step: {units.counted(len(found.ranked), 'legal layout')}, {fitting:,} fit"
        ),
        prose(f"ranked: {RANKING}. Peaks are what torch allocates, with recomputation and without."),
        "",
        *_ranking(found, limit),
    ]
    if len(found.ranked) > limit:
        lines.append(f"… {len(found.ranked) - limit:,} more: --limit, or --json for all")
    if found.reasons:
        lines += ["", "excluded, each reason with an example:", *_excluded(found)]
        lines.append("  (a degree that no value of the others can mend counts once)")
    lines += ["", prose(f"overhead {found.overhead_gib:g} GiB: {OVERHEAD}.")]
    return "\n".join(lines)


def _stages(stages: tuple[StageMemory, ...]) -> Iterator[str]:
    yield "GiB    layers     parameters  weights   grads  optim.  activ.    peak  at"
    for stage in stages:
        yield (
            f"stage {stage.stage:<3d} {stage.layers:3d}  {stage.parameters.total:13,d}  {stage.weights:7.2f}  "
            f"{stage.gradients:6.2f}  {stage.optimizer:6.2f}  {stage.activations:6.2f}  {stage.peak:6.2f}  "
            f"{stage.instant}"
        )


def _terms(terms: tuple[Term, ...]) -> Iterator[str]:
    rows = [(f"  {term.gib:7.2f}  {term.name}", term.formula) for term in terms if term.gib >= _SHOWN_FROM_GIB]
    small = sum(term.gib for term in terms if term.gib < _SHOWN_FROM_GIB)
    if small:
        rows.append((f"  {small:7.2f}  all others", ""))
    yield from beside(rows, left=_TERM)


def _verdict(layout: LayoutPlan, worst: StageMemory) -> str:
    needed = worst.peak + layout.overhead_gib
    words = "fits" if layout.fits else "does not fit"
    return (
        f"{words}: {worst.peak:.1f} GiB allocated peak + {layout.overhead_gib:.1f} GiB overhead = {needed:.1f} of "
        f"{layout.usable_gib:.1f} GiB"
    )


def _ranking(found: Search, limit: int) -> Iterator[str]:
    rows = found.ranked[:limit]
    width = max((len(_label(row.plan.placement)) for row in rows), default=0)
    yield f" no  {'layout':{width}}  recompute  fits  peak GiB  without   cost"
    for number, row in enumerate(rows, start=1):
        placement, worst = row.plan.placement, row.plan.worst
        yield (
            f"{number:3d}  {_label(placement):{width}}  {placement.recompute.granularity:9}  "
            f"{'yes' if row.plan.fits else 'no ':4}  {worst.peak if worst else 0:8.1f}  {row.peaks['none']:7.1f}  "
            f"{row.cost.total:5.2f}"
        )


def _excluded(found: Search) -> Iterator[str]:
    examples: dict[str, str] = {}
    for plan in found.excluded:
        for reason in plan.why_not:
            words, _, relation = reason.rpartition(" [")
            examples.setdefault(relation.rstrip("]"), words)
    for relation, count in found.reasons.items():
        yield from beside([(f"  {count:4d}", f"{relation}: {examples[relation]}")], left=6)


def _label(placement: Placement) -> str:
    return Degrees(
        tp=placement.tp,
        pp=placement.pp,
        vpp=placement.vpp,
        cp=placement.cp,
        ep=placement.ep,
        etp=placement.etp,
        dp=placement.dp,
    ).label
