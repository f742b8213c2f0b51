"""Rules that hold between arguments, of one side or of both: what a class alone cannot say."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from openrecipes.correctness.argument_classes import ArgumentClasses, RuleName
from openrecipes.correctness.argument_values import NONE, expanded, whole
from openrecipes.correctness.side import Side
from openrecipes.correctness.versions import version_in

_DEGREES: Final = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
_STATES: Final = ("main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype")
_INTERLEAVING: Final = (
    "num_layers_per_virtual_pipeline_stage",
    "num_virtual_stages_per_pipeline_rank",
    "pipeline_model_parallel_layout",
)
_LEAST_TE: Final = (2, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """One rule with what breaks it; nothing does where `faults` is empty."""

    name: RuleName
    says: str
    faults: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the rule holds."""
        return not self.faults

    def document(self) -> dict[str, Any]:
        """The rule as `--json` prints it."""
        result = "pass" if self.passed else "fail"
        return {"rule": self.name, "result": result, "says": self.says, "faults": list(self.faults)}


def relations(candidate: Side, reference: Side, table: ArgumentClasses) -> tuple[Relation, ...]:
    """Every rule, in the order of the table of rules."""
    differing = _differing(candidate, reference, table)
    return (
        _each("batch", "rows and ranks divide without rest", candidate, reference, _batch),
        _each("sequence-parallel", "experts over tp need it, and so does tp overlap", candidate, reference, _sequence),
        _each("experts", "ep divides the experts, and etp x ep x pp the GPUs", candidate, reference, _experts),
        _each("layers", "one way of placing layers at most", candidate, reference, _layers),
        _each("context-parallel", "rows divide by 2 x cp; hybrid needs per-token loss", candidate, reference, _context),
        Relation(
            name="packing",
            says="rows may be grouped otherwise where each token has the same weight and nothing is random",
            faults=tuple(_packing(candidate, reference, "packing" in differing)),
        ),
        Relation(
            name="schedule",
            says="decay and warm-up have the same lengths",
            faults=tuple(_schedule(candidate, reference)),
        ),
        _each(
            "permute-fusion", "fused permutation needs Transformer Engine 2.1", candidate, reference, _permute_fusion
        ),
        Relation(
            name="vocabulary",
            says="the padded vocabulary has the same size",
            faults=tuple(_vocabulary(candidate, reference)),
        ),
        Relation(
            name="aux-loss",
            says="with a load-balancing loss, microbatches, tp and cp must be the same",
            faults=tuple(_aux_loss(candidate, reference, bool({"aux-loss", "packing"} & differing))),
        ),
        _each(
            "precision-aware", "masters and moments are FP32, and the optimizer is adam", candidate, reference, _states
        ),
    )


def _each(
    name: RuleName, says: str, candidate: Side, reference: Side, look: Callable[[Side], Iterator[str]]
) -> Relation:
    """A rule that each side must keep by itself."""
    sides = {side.name: side for side in (candidate, reference)}.values()
    return Relation(
        name=name, says=says, faults=tuple(f"{side.name}: {fault}" for side in sides for fault in look(side))
    )


def _differing(candidate: Side, reference: Side, table: ArgumentClasses) -> set[str]:
    """The rules whose arguments differ between the sides."""
    found: set[str] = set()
    for argument in candidate.catalogue.arguments:
        listing = table.of_flag(argument.flags[0])
        if listing and listing.rules and candidate.text(argument.dest) != reference.text(argument.dest):
            found.update(listing.rules)
    return found


def _batch(side: Side) -> Iterator[str]:
    world = side.gpus
    tp, pp, cp = (side.whole(name) or 1 for name in _DEGREES)
    if world % (tp * pp * cp):
        yield f"{world} GPUs / (tp {tp} x pp {pp} x cp {cp}) is no whole number"
    rows, samples, batch = (
        side.whole(name) for name in ("rollout_batch_size", "n_samples_per_prompt", "global_batch_size")
    )
    if rows and batch and rows * (samples or 1) % batch:
        yield f"{rows} rows x {samples or 1} samples a rollout are no whole number of batches of {batch}"
    stated = side.recipe.workload.global_batch if side.recipe else batch
    if batch and batch != stated:
        yield f"global_batch_size {batch}, but workload.global_batch is {stated}"


def _sequence(side: Side) -> Iterator[str]:
    tp, on = side.whole("tensor_model_parallel_size") or 1, side.is_on("sequence_parallel")
    if tp > 1 and not on and side.text("num_experts") != NONE:
        yield f"experts at tp {tp} without sequence parallelism: the layer refuses to train"
    if side.is_on("tp_comm_overlap") and not on:
        yield "tp_comm_overlap without sequence parallelism"


def _experts(side: Side) -> Iterator[str]:
    experts, ep = side.whole("num_experts"), side.whole("expert_model_parallel_size") or 1
    etp, pp = side.whole("expert_tensor_parallel_size") or 1, side.whole("pipeline_model_parallel_size") or 1
    world = side.gpus
    if experts and experts % ep:
        yield f"{experts} experts / ep {ep} is no whole number"
    if experts and world % (etp * ep * pp):
        yield f"{world} GPUs / (etp {etp} x ep {ep} x pp {pp}) is no whole number"


def _layers(side: Side) -> Iterator[str]:
    given = [name for name in _INTERLEAVING if side.text(name) != NONE]
    if len(given) > 1:
        yield f"{' and '.join(given)} are given together"
    if given and (side.whole("pipeline_model_parallel_size") or 1) < 2 and given != ["pipeline_model_parallel_layout"]:
        yield f"{given[0]} at pp 1"


def _context(side: Side) -> Iterator[str]:
    cp, tokens = side.whole("context_parallel_size") or 1, side.recipe.workload.row_tokens if side.recipe else None
    if cp > 1 and tokens and tokens % (2 * cp):
        yield f"rows of {tokens} tokens / (2 x cp {cp}) is no whole number"
    sizes = expanded(side.text("hierarchical_context_parallel_sizes"))
    product = 1
    for size in sizes or ():
        product *= whole(size) or 1
    if sizes and product != cp:
        yield f"hierarchical sizes multiply to {product}, and cp is {cp}"
    if side.is_on("hybrid_context_parallel") and not side.is_on("calculate_per_token_loss"):
        yield "hybrid context parallelism without per-token loss"


def _packing(candidate: Side, reference: Side, differs: bool) -> Iterator[str]:  # noqa: FBT001
    if not differs:
        return
    for side in (candidate, reference):
        if not side.is_on("calculate_per_token_loss"):
            yield f"{side.name}: without per-token loss a token's weight depends on its microbatch"
        for name in ("attention_dropout", "hidden_dropout"):
            if side.number(name) != 0:
                yield f"{side.name}: {name} {side.text(name)} falls elsewhere in other microbatches"
        rows, batch = side.whole("rollout_batch_size"), side.whole("global_batch_size")
        if side.is_on("balance_data") and rows and batch and rows * (side.whole("n_samples_per_prompt") or 1) != batch:
            yield f"{side.name}: balance_data moves rows between the steps of a rollout"


def _schedule(candidate: Side, reference: Side) -> Iterator[str]:
    for name in ("train_iters", "lr_decay_iters", "lr_warmup_steps"):
        ours, theirs = candidate.text(name), reference.text(name)
        if ours != theirs:
            yield f"{name} {ours} against {theirs}: different optimization problems from step 1 on{_mend(name, theirs)}"


def _mend(name: str, steps: str) -> str:
    return f"; compare a run with --set result.steps_per_run={steps}" if name == "train_iters" else ""


def _permute_fusion(side: Side) -> Iterator[str]:
    stated = side.recipe.stack.transformer_engine if side.recipe else None
    version = version_in(stated or "")
    if side.is_on("moe_permute_fusion") and version is not None and version < _LEAST_TE:
        yield f"Transformer Engine {stated} has no fused permutation"


def _vocabulary(candidate: Side, reference: Side) -> Iterator[str]:
    ours, theirs = candidate.text("padded_vocab_size"), reference.text("padded_vocab_size")
    if ours != theirs:
        yield f"{ours} rows against {theirs}: the dummy rows take part in the softmax"


def _aux_loss(candidate: Side, reference: Side, differs: bool) -> Iterator[str]:  # noqa: FBT001
    for side in (candidate, reference) if differs else ():
        coefficients = expanded(side.text("moe_aux_loss_coeff")) or [side.text("moe_aux_loss_coeff")]
        if any(text not in ("0", NONE) for text in coefficients):
            yield f"{side.name}: moe_aux_loss_coeff {side.text('moe_aux_loss_coeff')} over other groups of tokens"


def _states(side: Side) -> Iterator[str]:
    on = side.is_on("use_precision_aware_optimizer")
    other = [
        f"{name} {side.text(name)}" for name in (*_STATES, "main_grads_dtype") if side.text(name) not in ("fp32", NONE)
    ]
    if other and not on:
        yield f"{' and '.join(other)} without the precision-aware optimizer, which Megatron refuses"
    if on and side.text("optimizer") not in ("adam", NONE):
        yield f"the precision-aware optimizer with {side.text('optimizer')}"
    if on and any(name.split(" ")[0] in _STATES for name in other):
        yield f"{' and '.join(other)}: states below FP32"
