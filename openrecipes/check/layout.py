"""Layout rules: the relations of openrecipes/layouts, and those that need more of the recipe than a layout."""

from collections.abc import Iterator
from typing import Final

from openrecipes.check.rule import Finding, Rule, Section, rule
from openrecipes.check.subject import Subject
from openrecipes.layouts.all_relations import ALL_RELATIONS
from openrecipes.layouts.relation import Case, Relation
from openrecipes.problems import Severity, nearest


def _from_relation(relation: Relation) -> Rule:
    def find(subject: Subject) -> Iterator[Finding]:
        recipe = subject.recipe
        case = Case(gpu=recipe.gpu, workload=recipe.workload, layout=recipe.layout, shape=subject.shape)
        for broken in relation.find(case):
            yield Finding(key=broken.key, what=broken.what, mend=broken.mend)

    severity: Severity = "error" if relation.illegal else "warning"
    return Rule(id=relation.id, section=Section.LAYOUT, says=relation.says, severity=severity, find=find)


# Those that TransformerConfig of Megatron-LM 1dcf0daf allows.
_RECOMPUTE_MODULES: Final = ("core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe", "shared_experts")

RELATION_RULES: Final = tuple(_from_relation(relation) for relation in ALL_RELATIONS)


@rule(
    "layout-gate-fix",
    Section.LAYOUT,
    "tp above the query groups of a model with an attention output gate needs the upstream fix in stack.megatron_lm.",
)
def gate_fix(subject: Subject) -> Iterator[Finding]:
    """An unpatched Megatron-LM, which splits the gate wrongly there."""
    layout, shape, stack = subject.recipe.layout, subject.shape, subject.recipe.stack
    if subject.model is None or shape is None or layout.tp <= shape.num_query_groups:
        return
    gated = any(argument.flag == "--attention-output-gate" for argument in subject.model.architecture_arguments())
    if gated and "gate" not in (stack.megatron_lm or ""):
        yield Finding(
            key="stack.megatron_lm",
            what=f"names no fix of the attention output gate, but tp {layout.tp} is above the model's "
            f"{shape.num_query_groups} query groups",
            mend="apply the upstream fix and name it here, or lower tp",
        )


@rule("layout-recompute", Section.LAYOUT, "full recompute has a method and num_layers; selective has neither.")
def recompute(subject: Subject) -> Iterator[Finding]:
    """Settings that Megatron-LM refuses together."""
    settings = subject.recipe.layout.recompute
    if settings is None:
        return
    for key in ("method", "num_layers"):
        value = getattr(settings, key, ...)
        if value is ...:  # one that could not be read hides no other
            continue
        if settings.granularity == "full" and value is None:
            yield Finding(
                key=f"layout.recompute.{key}",
                what=f"null, but full recompute needs a {key}",
                mend="write method: uniform and num_layers: 1" if key == "method" else "write num_layers: 1",
            )
        elif settings.granularity == "selective" and value is not None:
            yield Finding(
                key=f"layout.recompute.{key}",
                what=f"{value}, but selective recompute takes no {key}",
                mend=f"set layout.recompute.{key} to null",
            )
    if settings.granularity == "full" and settings.modules is not None:
        yield Finding(
            key="layout.recompute.modules",
            what="modules are named, but full recompute takes whole layers",
            mend="remove modules, or set granularity to selective",
        )


@rule("layout-recompute-layers", Section.LAYOUT, "recompute.num_layers is at most the layers of a stage.")
def recompute_layers(subject: Subject) -> Iterator[Finding]:
    """More layers than a stage has."""
    layout, shape = subject.recipe.layout, subject.shape
    settings = layout.recompute
    if settings is None or settings.num_layers is None or shape is None:
        return
    chunks = layout.pp * layout.vpp
    stage = max(layout.layer_split) // layout.vpp if layout.layer_split else -(-len(shape.layers) // chunks)
    if settings.num_layers > stage:
        yield Finding(
            key="layout.recompute.num_layers",
            what=f"{settings.num_layers} layers, but a stage holds at most {stage}",
            mend=f"set layout.recompute.num_layers to {stage} or less",
        )


@rule("layout-recompute-modules", Section.LAYOUT, "the modules of selective recompute are ones that Megatron-LM knows.")
def recompute_modules(subject: Subject) -> Iterator[Finding]:
    """A module that the trainer's configuration refuses after start-up."""
    settings = subject.recipe.layout.recompute
    for module in (settings.modules or ()) if settings else ():
        if module not in _RECOMPUTE_MODULES:
            guess = nearest(module, _RECOMPUTE_MODULES)
            yield Finding(
                key="layout.recompute.modules",
                what=f"{module} is no module that can be recomputed",
                mend=f"write {guess}" if guess else f"write one of {', '.join(_RECOMPUTE_MODULES)}",
            )


@rule("layout-deepep", Section.LAYOUT, "the flex dispatcher needs DeepEP in the stack.")
def deepep(subject: Subject) -> Iterator[Finding]:
    """A dispatcher whose library is not there."""
    if subject.recipe.layout.dispatcher == "flex" and subject.recipe.stack.deepep is None:
        yield Finding(
            key="layout.dispatcher",
            what="flex, but stack.deepep is null",
            mend="name the DeepEP version in stack.deepep, or set layout.dispatcher to alltoall",
        )


@rule("layout-offload-stages", Section.LAYOUT, "offloaded activations need pp 1.")
def offload_stages(subject: Subject) -> Iterator[Finding]:
    """Two features that exclude each other in the trainer."""
    layout = subject.recipe.layout
    if layout.offload == "activations" and layout.pp > 1:
        yield Finding(
            key="layout.offload",
            what=f"activations, but pp is {layout.pp} and offloaded activations need pp 1",
            mend="set layout.offload to null, or pp to 1",
        )
