"""The arguments of a command that decide how much memory it takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from openrecipes.plan.placement import NO_RECOMPUTE, PAD_MULTIPLIER, Recomputation
from openrecipes.render.command import Command

_BYTES: Final = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
# Flags whose memory is not in the formulas, with what a reader must know.
_NOT_MODELLED: Final = {
    "--mtp-num-layers": "multi-token prediction layers are not counted",
    "--fp8-format": "counted as bf16: FP8 copies of weights and smaller saved inputs are left out",
    "--fine-grained-activation-offloading": "counted as if every activation stayed on the GPU",
    "--tp-comm-overlap": "the user buffers of tensor-parallel overlap are left out",
    "--moe-shared-expert-overlap": "counted as without the overlap of the shared expert",
    "--overlap-moe-expert-parallel-comm": "counted as without the overlap of expert communication",
    "--enable-cuda-graph": "the memory pools of CUDA graphs are left out",
    "--cuda-graph-impl": "the memory pools of CUDA graphs are left out",
    "--use-megatron-fsdp": "counted as Megatron's distributed optimizer, not FSDP",
    "--distribute-saved-activations": "counted as if saved activations were not distributed",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    """What the trainer's flags say about memory; the defaults are slime's and Megatron's own."""

    gradient_bytes: int = 4
    moment_bytes: tuple[int, int] = (4, 4)
    master_bytes: int = 4  # 2 where FusedAdam keeps only the lower half beside the BF16 weight
    optimizer_on_host: bool = False
    fused_weight_gradients: bool = True
    permute_fusion: bool = False
    attention_backend: str = "auto"
    qk_norm: bool = False
    output_gate: bool = False
    shared_expert_gate: bool = False
    loss_chunk: int = 0  # tokens; 0 is the whole microbatch
    loss_recompute: bool = False
    scaled_logits: bool = False
    rotary_percent: float = 1.0
    vocab_multiple: int = 128
    pad_multiplier: int = PAD_MULTIPLIER
    recompute: Recomputation = NO_RECOMPUTE
    notes: tuple[str, ...] = ()


def choices(made: Command) -> Choices:
    """What a command's arguments decide."""
    return choices_of({argument.flag: argument.values for argument in made.arguments})


def choices_of(flags: Mapping[str, Sequence[str]]) -> Choices:
    """What flags with their values decide; where a flag is given twice, the caller keeps the last."""

    def value(flag: str, default: str) -> str:
        return flags[flag][0] if flags.get(flag) else default

    precision_aware = "--use-precision-aware-optimizer" in flags
    chunk = int(value("--log-probs-chunk-size", "-1"))
    moments = (value("--exp-avg-dtype", "fp32"), value("--exp-avg-sq-dtype", "fp32"))
    return Choices(
        gradient_bytes=_BYTES[value("--main-grads-dtype", "fp32")],
        moment_bytes=(_BYTES[moments[0]], _BYTES[moments[1]]),
        # FP32 masters are stored as their lower 16 bits (TE's store_param_remainders), FP16 ones as they are.
        master_bytes=2 if precision_aware else 4,
        optimizer_on_host="--optimizer-cpu-offload" in flags,
        fused_weight_gradients="--no-gradient-accumulation-fusion" not in flags,
        permute_fusion="--moe-permute-fusion" in flags,
        attention_backend=value("--attention-backend", "auto"),
        qk_norm="--qk-layernorm" in flags,
        output_gate="--attention-output-gate" in flags,
        shared_expert_gate="--moe-shared-expert-gate" in flags,
        loss_chunk=max(chunk, 0),
        loss_recompute="--recompute-loss-function" in flags,
        scaled_logits=float(value("--rollout-temperature", "1")) != 1,
        rotary_percent=float(value("--rotary-percent", "1")),
        vocab_multiple=int(value("--make-vocab-size-divisible-by", "128")),
        pad_multiplier=int(value("--data-pad-size-multiplier", str(PAD_MULTIPLIER))),
        recompute=_recomputation(flags),
        notes=tuple(f"{flag}: {words}" for flag, words in _NOT_MODELLED.items() if flag in flags),
    )


def _recomputation(flags: Mapping[str, Sequence[str]]) -> Recomputation:
    given = flags.get("--recompute-granularity")
    if not given:
        return NO_RECOMPUTE
    if given[0] == "selective":
        return Recomputation(
            granularity="selective", modules=frozenset(flags.get("--recompute-modules") or ("core_attn",))
        )
    method, number = flags.get("--recompute-method"), flags.get("--recompute-num-layers")
    return Recomputation(
        granularity="full",
        method="block" if method and method[0] == "block" else "uniform",
        num_layers=int(number[0]) if number else 1,
    )
