"""One layout planned: is it legal, what does each stage take, and does it fit."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from openrecipes.catalog.gpus import Gpu, gpu
from openrecipes.catalog.models import Model, model
from openrecipes.layouts.all_relations import ALL_RELATIONS
from openrecipes.layouts.relation import Case
from openrecipes.plan.choices import Choices, choices
from openrecipes.plan.megatron_estimate import megatron_estimate_gib
from openrecipes.plan.parameters import model_parameters
from openrecipes.plan.placement import Placement
from openrecipes.plan.planner import Planner
from openrecipes.plan.stage_memory import StageMemory, Term
from openrecipes.problems import Place, Problem, ProblemsError
from openrecipes.recipe.model import Recipe
from openrecipes.render.command import command

OVERHEAD_GIB: Final = 8.0
OVERHEAD: Final = (
    "what a GPU holds above PyTorch's allocated peak: CUDA context, NCCL buffers, loaded kernels. An allowance, not a "
    "formula: nvidia-smi read 3.5 to 7.3 GiB above the reserved peak of two-GPU H200 runs. What the allocator "
    "reserves and does not use (11 to 12 % there, with expandable segments) is not in it: it is given back before an "
    "allocation fails"
)
IMBALANCE: Final = 1.5


@dataclass(frozen=True, kw_only=True, slots=True)
class LayoutPlan:
    """A layout with its memory. Where `why_not` says what makes it illegal, there are no stages."""

    placement: Placement
    why_not: tuple[str, ...]
    stages: tuple[StageMemory, ...] = ()
    usable_gib: float | None = None
    overhead_gib: float = OVERHEAD_GIB

    @property
    def worst(self) -> StageMemory | None:
        """The stage with the highest peak."""
        return max(self.stages, key=lambda stage: stage.peak, default=None)

    @property
    def fits(self) -> bool:
        """Whether the worst stage's peak and the overhead stay within the GPU's usable memory."""
        worst = self.worst
        return worst is not None and self.usable_gib is not None and worst.peak + self.overhead_gib <= self.usable_gib


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipePlan:
    """The plan of one recipe: its layout, the terms of its worst stage, and what the formulas leave out."""

    model: str
    gpu: str
    layout: LayoutPlan
    terms: tuple[tuple[Term, ...], ...]  # stage by stage
    megatron_estimate_gib: float | None
    notes: tuple[str, ...]


def plan_recipe(recipe: Recipe, *, imbalance: float = IMBALANCE, overhead_gib: float = OVERHEAD_GIB) -> RecipePlan:
    """The plan of a recipe's layout.

    Raises: UsageError for a model or GPU that the catalogue lacks; ProblemsError where there is no memory to plan or
    the recipe has no command.
    """
    found, card = model(recipe.model), gpu(recipe.gpu.type)
    usable = _usable(recipe, card)
    why_not = tuple(_why_not(recipe, found))
    if why_not:
        # What the flags decide does not matter where nothing starts.
        layout = LayoutPlan(placement=_placement(recipe, Choices()), why_not=why_not, usable_gib=usable)
        return RecipePlan(
            model=found.name, gpu=card.name, layout=layout, terms=(), megatron_estimate_gib=None, notes=()
        )
    decided = choices(command(recipe, found))
    placement = _placement(recipe, decided)
    planner = Planner(counts=model_parameters(found), choices=decided, imbalance=imbalance)
    stages = planner.stages(placement)
    layout = LayoutPlan(placement=placement, why_not=(), stages=stages, usable_gib=usable, overhead_gib=overhead_gib)
    return RecipePlan(
        model=found.name,
        gpu=card.name,
        layout=layout,
        terms=tuple(planner.terms(placement, stage) for stage in stages),
        megatron_estimate_gib=megatron_estimate_gib(found.shape, placement, decided),
        notes=decided.notes,
    )


def _usable(recipe: Recipe, card: Gpu) -> float:
    if recipe.trainer != "slime" or card.usable_memory_gib is None:
        what = f"{recipe.trainer} on {card.name}: there is no GPU memory to plan"
        mend = "plan a recipe of the slime trainer on GPUs"
        raise ProblemsError(Problem(place=Place(key="gpu.type"), rule="plan-gpu", what=what, mend=mend))
    return card.usable_memory_gib


def _why_not(recipe: Recipe, found: Model) -> Iterator[str]:
    case = Case(gpu=recipe.gpu, workload=recipe.workload, layout=recipe.layout, shape=found.shape)
    for relation in ALL_RELATIONS:
        if relation.illegal:
            yield from (f"{broken.key}: {broken.what} [{relation.id}]" for broken in relation.find(case))


def _placement(recipe: Recipe, decided: Choices) -> Placement:
    layout = recipe.layout
    return Placement(
        gpus=recipe.gpu.count,
        tp=layout.tp,
        pp=layout.pp,
        vpp=layout.vpp,
        cp=layout.cp,
        ep=layout.ep,
        etp=layout.etp,
        dp=layout.dp,
        sequence_parallel=layout.sequence_parallel and layout.tp > 1,
        layer_split=layout.layer_split,
        dispatcher=layout.dispatcher,
        row_tokens=recipe.workload.row_tokens,
        rows_per_microbatch=layout.rows_per_microbatch,
        max_tokens_per_gpu=layout.max_tokens_per_gpu,
        global_batch=recipe.workload.global_batch,
        pad_multiplier=decided.pad_multiplier,
        recompute=decided.recompute,
    )
