"""The arguments of a command that decide how much memory it takes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final

from openrecipes.plan.placement import NO_RECOMPUTE, PAD_MULTIPLIER, Recomputation
from openrecipes.problems import Place, Problem, ProblemsError
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
    """What flags with their values decide; where a flag is given twice, the caller keeps the last.

    Raises: ProblemsError with every value that cannot be read.
    """
    read = _Values(flags=flags, problems=[])
    made = Choices(
        gradient_bytes=read.width("--main-grads-dtype"),
        moment_bytes=(read.width("--exp-avg-dtype"), read.width("--exp-avg-sq-dtype")),
        # FP32 masters are stored as their lower 16 bits (TE's store_param_remainders), FP16 ones as they are.
        master_bytes=2 if "--use-precision-aware-optimizer" in flags else 4,
        optimizer_on_host="--optimizer-cpu-offload" in flags,
        fused_weight_gradients="--no-gradient-accumulation-fusion" not in flags,
        permute_fusion="--moe-permute-fusion" in flags,
        attention_backend=read.text("--attention-backend", "auto"),
        qk_norm="--qk-layernorm" in flags,
        output_gate="--attention-output-gate" in flags,
        shared_expert_gate="--moe-shared-expert-gate" in flags,
        loss_chunk=max(read.whole("--log-probs-chunk-size", -1, least=-1), 0),
        loss_recompute="--recompute-loss-function" in flags,
        scaled_logits=read.number("--rollout-temperature", 1) != 1,
        rotary_percent=read.number("--rotary-percent", 1),
        vocab_multiple=read.whole("--make-vocab-size-divisible-by", 128),
        pad_multiplier=read.whole("--data-pad-size-multiplier", PAD_MULTIPLIER),
        recompute=_recomputation(flags),
        notes=tuple(f"{flag}: {words}" for flag, words in _NOT_MODELLED.items() if flag in flags),
    )
    if read.problems:
        raise ProblemsError(*read.problems)
    return made


@dataclass(frozen=True, kw_only=True, slots=True)
class _Values:
    """Values of flags; what cannot be read becomes a problem, and the default stands in."""

    flags: Mapping[str, Sequence[str]]
    problems: list[Problem]

    def text(self, flag: str, default: str) -> str:
        """The value as written."""
        return self.flags[flag][0] if self.flags.get(flag) else default

    def width(self, flag: str) -> int:
        """Bytes of a number of the named kind; FP32 where the flag is not given."""
        value = self.text(flag, "fp32")
        if value not in _BYTES:
            self._refuse(flag, value, f"one of {', '.join(_BYTES)}")
        return _BYTES.get(value, 4)

    def whole(self, flag: str, default: int, *, least: int = 1) -> int:
        """A whole number of at least `least`."""
        value = self.text(flag, str(default))
        if re.fullmatch(r"-?[0-9]{1,12}", value) and int(value) >= least:
            return int(value)
        self._refuse(flag, value, f"a whole number from {least} up")
        return default

    def number(self, flag: str, default: float) -> float:
        """A positive number."""
        value = self.text(flag, str(default))
        try:
            found = float(value)
        except ValueError:
            found = 0.0
        if not (isfinite(found) and found > 0):
            self._refuse(flag, value, "a positive number")
            return default
        return found

    def _refuse(self, flag: str, value: str, wanted: str) -> None:
        key = f"arguments.{flag.removeprefix('--').replace('-', '_')}"
        what, mend = f"{value} for {flag} is not {wanted}", f"write {wanted}, or leave it out"
        self.problems.append(Problem(place=Place(key=key), rule="plan-value", what=what, mend=mend))


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
