"""Flags that need, exclude or void each other, and defaults that surprise: a table, and what breaks it."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from openrecipes.check.flag_values import FlagFault

Effective = Mapping[str, tuple[str, ...]]  # each flag that is given, with its values

# Dtypes of optimizer states other than fp32, by flag.
_STATES: Final = {
    "--main-grads-dtype": ("bf16",),
    "--main-params-dtype": ("fp16",),
    "--exp-avg-dtype": ("fp16", "bf16", "fp8"),
    "--exp-avg-sq-dtype": ("fp16", "bf16", "fp8"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Coupling:
    """`flag` (with one of `values`, or any) needs, excludes or is voided by `other` (with one of `others`, or any)."""

    flag: str
    kind: Literal["needs", "excludes", "void"]
    other: str
    why: str
    values: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def _needs(flag: str, other: str, why: str, *, values: tuple[str, ...] = (), others: tuple[str, ...] = ()) -> Coupling:
    return Coupling(flag=flag, kind="needs", other=other, why=why, values=values, others=others)


def _excludes(
    flag: str, other: str, why: str, *, values: tuple[str, ...] = (), others: tuple[str, ...] = ()
) -> Coupling:
    return Coupling(flag=flag, kind="excludes", other=other, why=why, values=values, others=others)


def _void(flags: str, other: str, why: str, *, others: tuple[str, ...] = ()) -> tuple[Coupling, ...]:
    return tuple(Coupling(flag=flag, kind="void", other=other, why=why, others=others) for flag in flags.split())


_OVERLAP: Final = "--overlap-moe-expert-parallel-comm"
_DISPATCHER: Final = "--moe-token-dispatcher-type"
_PRECISE: Final = "--use-precision-aware-optimizer"

# Megatron-LM's and slime's own checks and readings, at the commits of the catalogue.
COUPLINGS: Final[tuple[Coupling, ...]] = (
    _needs("--overlap-param-gather", "--overlap-grad-reduce", "the gather is overlapped with the reduction"),
    _needs("--delay-wgrad-compute", _OVERLAP, "the delayed gradients fill that overlap"),
    _needs("--ep-overlap-early-attn-memory-release", _OVERLAP, "it is a part of that overlap"),
    _needs("--tp-comm-overlap", "--sequence-parallel", "the overlapped collectives are those of sequence parallelism"),
    _needs("--optimizer-cpu-offload", _PRECISE, "the offloaded optimizer is built on it"),
    _needs(_PRECISE, "--optimizer", "only Adam has that form", others=("adam",)),
    *(
        _needs(flag, _PRECISE, "without it all optimizer states are fp32", values=dtypes)
        for flag, dtypes in _STATES.items()
    ),
    _needs("--moe-enable-deepep", _DISPATCHER, "DeepEP is reached by that dispatcher", others=("flex",)),
    _needs("--moe-shared-expert-overlap", _DISPATCHER, "only it leaves a gap to fill", others=("alltoall",)),
    _needs(_OVERLAP, _DISPATCHER, "only these can be overlapped", others=("alltoall", "flex")),
    _excludes(_OVERLAP, "--recompute-granularity", "whole layers are recomputed in one piece", others=("full",)),
    _excludes(_OVERLAP, "--moe-shared-expert-overlap", "both fill the same gap"),
    _excludes(
        "--ddp-average-in-collective", "--calculate-per-token-loss", "the sum is divided by tokens, not by ranks"
    ),
    _excludes("--distribute-saved-activations", "--sequence-parallel", "they are split already"),
    _excludes("--lr-warmup-iters", "--lr-warmup-fraction", "the warm-up would have two lengths"),
    _excludes("--lr-warmup-samples", "--lr-warmup-fraction", "the warm-up would have two lengths"),
    _excludes(
        "--main-grads-dtype",
        "--accumulate-allreduce-grads-in-fp32",
        "the gradients would be both bf16 and fp32",
        values=("bf16",),
    ),
    *_void("--micro-batch-size", "--use-dynamic-batch-size", "microbatches are filled up to --max-tokens-per-gpu"),
    *_void("--num-epoch", "--num-rollout", "the number of steps is given"),
    *_void("--min-lr --lr-decay-iters", "--lr-decay-style", "the rate stays as it is", others=("constant",)),
    *_void("--adam-beta1 --adam-beta2 --adam-eps", "--optimizer", "SGD has no such moments", others=("sgd",)),
    *_void("--sgd-momentum", "--optimizer", "Adam has moments of its own", others=("adam",)),
    *_void(
        "--rollout-temperature --rollout-top-p --rollout-top-k --rollout-max-response-len --rollout-num-gpus "
        "--rollout-num-gpus-per-engine",
        "--debug-train-only",
        "no inference engine is started",
    ),
    *_void(
        "--eps-clip --use-kl-loss --kl-loss-coef --kl-coef --entropy-coef --advantage-estimator",
        "--loss-type",
        "supervised fine-tuning has no such term",
        others=("sft_loss",),
    ),
)

# Flags whose default surprises where they are left out: the default, and what it does.
SURPRISING_DEFAULTS: Final = {
    "--attention-dropout": ("0.1", "attention weights are dropped"),
    "--hidden-dropout": ("0.1", "activations are dropped"),
}
_OWN_SFT_ROLLOUT: Final = "slime.rollout.sft_rollout.generate_rollout"


def coupling_faults(effective: Effective, *, unknown: Container[str] = ()) -> Iterator[FlagFault]:
    """Every coupling that the given flags break; `unknown` ones may be there too."""
    for coupling in COUPLINGS:
        if not _holds(effective, coupling.flag, coupling.values):
            continue
        if coupling.other in unknown and coupling.other not in effective:
            continue
        there = _holds(effective, coupling.other, coupling.others)
        if there == (coupling.kind == "needs"):
            continue
        other = f"{coupling.other} {' or '.join(coupling.others)}".rstrip()
        what, mend = _words(effective, coupling, other)
        yield FlagFault(flag=coupling.flag, rule=f"argument-{coupling.kind}", what=what, mend=mend)


def _words(effective: Effective, coupling: Coupling, other: str) -> tuple[str, str]:
    flag = " ".join((coupling.flag, *effective[coupling.flag]))[:80]
    if coupling.kind == "needs":
        return f"{flag} needs {other}: {coupling.why}", f"add {other}, or remove {coupling.flag}"
    if coupling.kind == "excludes":
        return f"{flag} cannot stand beside {other}: {coupling.why}", "keep one of the two"
    return f"{flag} has no effect beside {other}: {coupling.why}", f"remove {coupling.flag}"


def default_faults(effective: Effective, *, known: Container[str], loss_mask: str | None) -> Iterator[FlagFault]:
    """Known flags left out whose default surprises; `loss_mask` is the mask that the model's template asks for."""
    for flag, (default, does) in SURPRISING_DEFAULTS.items():
        if flag in known and flag not in effective:
            what = f"{flag} is left out, and its default is {default}: {does}"
            yield FlagFault(flag=flag, rule="argument-default", what=what, mend=f"write {flag} 0.0, or the rate meant")
    path, mask = "--rollout-function-path", "--loss-mask-type"
    if effective.get(path) == (_OWN_SFT_ROLLOUT,) and loss_mask is not None and mask not in effective:
        what = f"{_OWN_SFT_ROLLOUT} masks by the default {mask} qwen, but the model's template needs {loss_mask}"
        yield FlagFault(flag=path, rule="argument-default", what=what, mend=f"write {mask} {loss_mask}")


def _holds(effective: Effective, flag: str, values: tuple[str, ...]) -> bool:
    return flag in effective and (not values or " ".join(effective[flag]) in values)
