"""One way to spread a model over GPUs: degrees, microbatches, recomputation, and the tokens that a rank sees."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

from openrecipes.layouts.degrees import expert_data_parallel

PAD_MULTIPLIER: Final = 128  # slime's --data-pad-size-multiplier where it is not given


@dataclass(frozen=True, kw_only=True, slots=True)
class Recomputation:
    """What is computed again in the backward pass, in Megatron's terms."""

    granularity: Literal["none", "selective", "full"] = "none"
    method: Literal["uniform", "block"] = "uniform"
    num_layers: int = 1
    modules: frozenset[str] = frozenset()


NO_RECOMPUTE: Final = Recomputation()
FULL: Final = Recomputation(granularity="full")


@dataclass(frozen=True, kw_only=True, slots=True)
class Placement:
    """A layout with its batch. It reads like a recipe's `layout`, so that layout relations take it."""

    gpus: int
    tp: int = 1
    pp: int = 1
    vpp: int = 1
    cp: int = 1
    ep: int = 1
    etp: int = 1
    dp: int
    sequence_parallel: bool
    layer_split: tuple[int, ...] | None = None
    dispatcher: str | None
    row_tokens: int
    rows_per_microbatch: int = 1
    max_tokens_per_gpu: int
    global_batch: int
    pad_multiplier: int = PAD_MULTIPLIER
    recompute: Recomputation = field(default=NO_RECOMPUTE)

    @property
    def tokens(self) -> int:
        """Tokens of a microbatch on one rank: rows x row_tokens / cp, padded to tp x pad_multiplier.

        Source: slime a897e1f4, backends/megatron_utils/data.py, get_batch.
        """
        rows = -(-self.rows_per_microbatch * self.row_tokens // self.cp)
        step = self.tp * self.pad_multiplier
        return -(-rows // step) * step

    @property
    def microbatches(self) -> int:
        """Microbatches of a step on one rank."""
        return max(1, self.global_batch // (self.dp * self.rows_per_microbatch))

    @property
    def edp(self) -> int:
        """Copies of each expert. Raises: ValueError where etp x ep x pp does not divide the GPUs."""
        return expert_data_parallel(self.gpus, etp=self.etp, ep=self.ep, pp=self.pp)

    def stage_layers(self, num_layers: int) -> tuple[tuple[tuple[int, int], ...], ...]:
        """First layer and the one after the last of each chunk of each stage, layers counted from 0.

        Source: Megatron-LM 1dcf0daf, core/transformer/transformer_layer.py, get_transformer_layer_offset.
        """
        return _stage_layers(num_layers, self.pp, self.vpp, self.layer_split)

    def chunks_in_flight(self, stage: int) -> int:
        """Model chunks of a stage whose activations are alive at once: warm-up forward passes and one more.

        Source: Megatron-LM 1dcf0daf, core/pipeline_parallel/schedules.py, get_pp_rank_microbatches.
        """
        behind = self.pp - stage - 1
        warm_up = behind if self.vpp == 1 else 2 * behind + (self.vpp - 1) * self.pp
        return min(warm_up + 1, self.microbatches * self.vpp)


@lru_cache(maxsize=512)
def _stage_layers(
    num_layers: int, pp: int, vpp: int, layer_split: tuple[int, ...] | None
) -> tuple[tuple[tuple[int, int], ...], ...]:
    per_chunk = [count // vpp for count in layer_split or (num_layers // pp,) * pp]
    stages: list[list[tuple[int, int]]] = [[] for _ in per_chunk]
    start = 0
    for _ in range(vpp):
        for stage, count in enumerate(per_chunk):
            stages[stage].append((start, start + count))
            start += count
    return tuple(tuple(chunks) for chunks in stages)
