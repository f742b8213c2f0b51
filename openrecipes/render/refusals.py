"""Why a recipe's fields have no command: what the trainer's flags cannot say, and what they say twice."""

from collections.abc import Iterator
from typing import Final

from openrecipes.catalog.models import Model
from openrecipes.layouts import batch_relations, stage_relations
from openrecipes.layouts.relation import Case, Relation
from openrecipes.problems import Place, Problem, in_order
from openrecipes.recipe.model import Recipe
from openrecipes.render.argument_problems import argument_problems
from openrecipes.render.environment import environment_problems
from openrecipes.render.settings import settings

# Without these a layout cannot be written as flags at all; `check` holds all other relations.
_RELATIONS: Final[tuple[Relation, ...]] = (
    stage_relations.vpp,
    stage_relations.split_stages,
    stage_relations.split_layers,
    stage_relations.split_middle,
    stage_relations.split_vpp,
    batch_relations.max_tokens,
    batch_relations.nodes,
)
_OFFLOAD_MODULES: Final = "--offload-modules"
_TE_OFFLOAD: Final = "NVTE_CPU_OFFLOAD_V1"


def refusals(recipe: Recipe, model: Model) -> tuple[Problem, ...]:
    """Everything that keeps the recipe from having a command, in order; places name keys, no file."""
    trainer = _smoke_problems(recipe) if recipe.trainer == "smoke" else _slime_problems(recipe, model)
    return in_order((*trainer, *argument_problems(recipe, model), *environment_problems(recipe.env)))


def _slime_problems(recipe: Recipe, model: Model) -> Iterator[Problem]:
    case = Case(gpu=recipe.gpu, workload=recipe.workload, layout=recipe.layout, shape=model.shape)
    for relation in _RELATIONS:
        for broken in relation.find(case):
            yield _problem(broken.key, relation.id, broken.what, broken.mend)
    if recipe.workload.precision == "fp32":
        what = "fp32, but slime trains in bf16 unless --fp16 is given"
        yield _problem("workload.precision", "render-precision", what, "set workload.precision to bf16, fp16 or fp8")
    if recipe.layout.dispatcher == "allgather":
        what = "allgather, but slime turns it into alltoall"
        yield _problem("layout.dispatcher", "layout-allgather", what, "set layout.dispatcher to alltoall")
    yield from _offload_problems(recipe)


def _offload_problems(recipe: Recipe) -> Iterator[Problem]:
    given = {setting.flag: setting for setting in settings(recipe.arguments)}
    if recipe.layout.offload == "activations":
        if _OFFLOAD_MODULES not in given or given[_OFFLOAD_MODULES].is_left_out:
            what = "activations, but nothing says which modules' activations go to host memory"
            mend = "add offload_modules to arguments, as [core_attn, attn_proj] or [expert_fc1, moe_act]"
            yield _problem("layout.offload", "render-offload-modules", what, mend)
        if recipe.env.get(_TE_OFFLOAD) != "1":
            what = f"activations, but env has no {_TE_OFFLOAD}, without which Megatron-LM refuses to start"
            yield _problem("layout.offload", "render-offload-env", what, f"add {_TE_OFFLOAD}: '1' to env")
    precise = given.get("--use-precision-aware-optimizer")
    if recipe.layout.offload == "optimizer" and precise is not None and precise.is_left_out:
        what = f"optimizer, but arguments.{precise.key} leaves out what offloading it is built on"
        mend = f"remove {precise.key} from arguments, or set layout.offload to null"
        yield _problem("layout.offload", "render-offload-optimizer", what, mend)


def _smoke_problems(recipe: Recipe) -> Iterator[Problem]:
    """The smoke trainer has data parallelism on one node, in FP32, and nothing else."""
    layout, gpu = recipe.layout, recipe.gpu
    rule = "render-smoke"
    for name in ("tp", "pp", "vpp", "cp", "ep", "etp"):
        degree = getattr(layout, name)
        if degree != 1:
            what = f"{degree}, but the smoke trainer is only data parallel"
            yield _problem(f"layout.{name}", rule, what, f"set layout.{name} to 1")
    for name, none in (("sequence_parallel", False), ("layer_split", None), ("recompute", None), ("offload", None)):
        if getattr(layout, name) != none:
            what = "is set, but the smoke trainer has no such thing"
            yield _problem(f"layout.{name}", rule, what, f"set layout.{name} to {'false' if none is False else 'null'}")
    if recipe.workload.precision != "fp32":
        what = f"{recipe.workload.precision}, but the smoke trainer computes in fp32"
        yield _problem("workload.precision", rule, what, "set workload.precision to fp32")
    if gpu.count > gpu.per_node:
        what = f"{gpu.count} ranks on nodes of {gpu.per_node}, but the smoke trainer runs on one node"
        yield _problem("gpu.count", rule, what, f"set gpu.count to {gpu.per_node} or less")


def _problem(key: str, rule: str, what: str, mend: str) -> Problem:
    return Problem(place=Place(key=key), rule=rule, what=what, mend=mend)
