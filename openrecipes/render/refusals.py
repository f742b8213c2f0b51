"""Why a recipe's fields have no command: what the trainer's flags cannot say, and what they say twice."""

from collections.abc import Iterator
from itertools import chain
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
_SMOKE: Final = "render-smoke"
_TE_OFFLOAD: Final = "NVTE_CPU_OFFLOAD_V1"


def refusals(recipe: Recipe, model: Model) -> tuple[Problem, ...]:
    """Everything that keeps the recipe from having a command, in order; places name keys, no file."""
    return in_order(chain.from_iterable(looks(recipe, model)))


def looks(recipe: Recipe, model: Model) -> Iterator[Iterator[Problem]]:
    """The same, one look at the fields at a time, none of which needs another's fields."""
    if recipe.trainer == "smoke":
        yield from _smoke_looks(recipe)
    else:
        yield from (_broken(relation, recipe, model) for relation in _RELATIONS)
        yield from (look(recipe) for look in (_precision_problems, _dispatcher_problems, _offload_problems))
    yield argument_problems(recipe, model)
    yield _environment_problems(recipe)


def _broken(relation: Relation, recipe: Recipe, model: Model) -> Iterator[Problem]:
    case = Case(gpu=recipe.gpu, workload=recipe.workload, layout=recipe.layout, shape=model.shape)
    for broken in relation.find(case):
        yield _problem(broken.key, relation.id, broken.what, broken.mend)


def _environment_problems(recipe: Recipe) -> Iterator[Problem]:
    yield from environment_problems(recipe.env)


def _precision_problems(recipe: Recipe) -> Iterator[Problem]:
    if recipe.workload.precision == "fp32":
        what = "fp32, but slime trains in bf16 unless --fp16 is given"
        yield _problem("workload.precision", "render-precision", what, "set workload.precision to bf16, fp16 or fp8")


def _dispatcher_problems(recipe: Recipe) -> Iterator[Problem]:
    if recipe.layout.dispatcher == "allgather":
        what = "allgather, but slime turns it into alltoall"
        yield _problem("layout.dispatcher", "layout-allgather", what, "set layout.dispatcher to alltoall")


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


def _smoke_looks(recipe: Recipe) -> Iterator[Iterator[Problem]]:
    """The smoke trainer has data parallelism on one node, in FP32, and nothing else."""
    for name in ("tp", "pp", "vpp", "cp", "ep", "etp"):
        yield _smoke_degree(recipe, name)
    for name in ("sequence_parallel", "layer_split", "recompute", "offload"):
        yield _smoke_lacks(recipe, name)
    yield _smoke_precision(recipe)
    yield _smoke_nodes(recipe)


def _smoke_degree(recipe: Recipe, name: str) -> Iterator[Problem]:
    degree = getattr(recipe.layout, name)
    if degree != 1:
        what = f"{degree}, but the smoke trainer is only data parallel"
        yield _problem(f"layout.{name}", _SMOKE, what, f"set layout.{name} to 1")


def _smoke_lacks(recipe: Recipe, name: str) -> Iterator[Problem]:
    if getattr(recipe.layout, name) not in (None, False):
        none = "false" if name == "sequence_parallel" else "null"
        what = "is set, but the smoke trainer has no such thing"
        yield _problem(f"layout.{name}", _SMOKE, what, f"set layout.{name} to {none}")


def _smoke_precision(recipe: Recipe) -> Iterator[Problem]:
    if recipe.workload.precision != "fp32":
        what = f"{recipe.workload.precision}, but the smoke trainer computes in fp32"
        yield _problem("workload.precision", _SMOKE, what, "set workload.precision to fp32")


def _smoke_nodes(recipe: Recipe) -> Iterator[Problem]:
    gpu = recipe.gpu
    if gpu.count > gpu.per_node:
        what = f"{gpu.count} ranks on nodes of {gpu.per_node}, but the smoke trainer runs on one node"
        yield _problem("gpu.count", _SMOKE, what, f"set gpu.count to {gpu.per_node} or less")


def _problem(key: str, rule: str, what: str, mend: str) -> Problem:
    return Problem(place=Place(key=key), rule=rule, what=what, mend=mend)
