"""The memory of every stage of a placement. One planner serves many placements of one model and reuses their parts."""

from dataclasses import dataclass, field

from openrecipes.plan.choices import Choices
from openrecipes.plan.layer import LayerMemory, layer_memory
from openrecipes.plan.parameters import (
    ModelParameters,
    StageParameters,
    buffer_elements,
    embedding_elements,
    largest_tensor,
    stage_parameters,
)
from openrecipes.plan.placement import Placement, Recomputation
from openrecipes.plan.resident import resident, rows
from openrecipes.plan.sizes import Sizes, sizes
from openrecipes.plan.stage_activations import Chunk, chunk_of, largest_parts, saved_parts
from openrecipes.plan.stage_memory import GIB, Instant, StageMemory, Term, terms


@dataclass(kw_only=True, slots=True)
class Planner:
    """Plans placements of one model under the same choices.

    `imbalance` is the token share of the most loaded expert rank over the mean, at ep above 1.
    """

    counts: ModelParameters
    choices: Choices
    imbalance: float
    _sizes: dict[tuple[object, ...], Sizes] = field(default_factory=dict)
    _layers: dict[tuple[object, ...], LayerMemory] = field(default_factory=dict)
    _chunks: dict[tuple[object, ...], Chunk] = field(default_factory=dict)
    _resident: dict[tuple[object, ...], dict[str, int]] = field(default_factory=dict)
    _parameters: dict[tuple[object, ...], StageParameters] = field(default_factory=dict)
    _in_flight: dict[tuple[object, ...], tuple[int, int]] = field(default_factory=dict)

    def stages(self, placement: Placement) -> tuple[StageMemory, ...]:
        """The memory of a rank of each stage, first to last."""
        return tuple(self.stage(placement, stage) for stage in range(placement.pp))

    def stage(self, placement: Placement, stage: int) -> StageMemory:
        """The memory of a rank of one stage."""
        held = self._held(placement, stage)
        static = self._static(held, placement)
        instants = self._instants(held, placement, stage)
        instant = max(instants, key=lambda name: instants[name])
        rest = sum(self._resident_parts(placement, stage).values()) + rows(placement) + instants[instant]
        ranges = placement.stage_layers(len(self.counts.pattern))[stage]
        return StageMemory(
            stage=stage,
            layers=sum(end - start for start, end in ranges),
            parameters=held,
            weights=static["weights"] / GIB,
            gradients=static["gradients"] / GIB,
            optimizer=(static["dense_optimizer"] + static["expert_optimizer"]) / GIB,
            activations=rest / GIB,
            peak=(sum(static.values()) + rest) / GIB,
            instant=instant,
        )

    def terms(self, placement: Placement, memory: StageMemory) -> tuple[Term, ...]:
        """The terms that sum to a stage's peak, largest first."""
        held = memory.parameters
        parts = {**self._static(held, placement), **self._resident_parts(placement, memory.stage)}
        parts["rows"] = rows(placement)
        for key, count in self._instant_parts(held, placement, memory).items():
            parts[key] = parts.get(key, 0) + count
        return terms(parts)

    def _held(self, placement: Placement, stage: int) -> StageParameters:
        key = (
            placement.tp,
            placement.ep * placement.etp,
            placement.stage_layers(len(self.counts.pattern))[stage],
            stage,
        )
        if key not in self._parameters:
            self._parameters[key] = stage_parameters(self.counts, placement, self.choices, stage)
        return self._parameters[key]

    def _static(self, held: StageParameters, placement: Placement) -> dict[str, int]:
        choices, ranks = self.choices, placement.dp * placement.cp
        dense = buffer_elements(held.dense, ranks)
        experts = buffer_elements(held.experts, placement.edp) if held.experts else 0
        state = 0 if choices.optimizer_on_host else sum(choices.moment_bytes) + choices.master_bytes
        return {
            "weights": 2 * (dense + experts),
            "gradients": choices.gradient_bytes * (dense + experts),
            "dense_optimizer": state * dense // ranks,
            "expert_optimizer": state * experts // placement.edp if experts else 0,
        }

    def _instants(self, held: StageParameters, placement: Placement, stage: int) -> dict[Instant, int]:
        """Bytes of activations alive at each instant that can be the largest."""
        rank, in_flight = self._sizes_of(placement), placement.chunks_in_flight(stage)
        saved, largest = self._saved_and_largest(placement, stage)
        others = (in_flight - 1) * saved // placement.vpp
        found: dict[Instant, int] = {
            "layer": others + largest,
            "optimizer step": self._optimizer_step(held, placement),
        }
        if stage == 0:
            found["embedding backward"] = others + rank.input_bytes + 2 * self._embedding(placement)
        if stage == placement.pp - 1:
            found["loss"] = in_flight * saved // placement.vpp + self._logits(rank) + 2 * rank.input_bytes
        return found

    def _instant_parts(self, held: StageParameters, placement: Placement, memory: StageMemory) -> dict[str, int]:
        """The same for the largest instant, part by part."""
        if memory.instant == "optimizer step":
            return {"optimizer_step": self._optimizer_step(held, placement)}
        chunks, rank = self._stage_chunks(placement, memory.stage), self._sizes_of(placement)
        others = placement.chunks_in_flight(memory.stage) - (0 if memory.instant == "loss" else 1)
        parts: dict[str, int] = {}
        for number, chunk in enumerate(chunks):
            kept = saved_parts(chunk)
            kept["stage_input"] += chunk.lost_input if memory.stage > 0 or number > 0 else 0
            for key, count in kept.items():
                parts[key] = parts.get(key, 0) + others * count
        parts = {key: count // len(chunks) for key, count in parts.items()}
        if memory.instant == "layer":
            more = dict(largest_parts(max(chunks, key=lambda chunk: chunk.largest.total)))
        elif memory.instant == "loss":
            more = {"logits": self._logits(rank), "last_hidden": 2 * rank.input_bytes}
        else:
            more = {"embedding_gradient": 2 * self._embedding(placement), "hidden_gradients": rank.input_bytes}
        return {key: parts.get(key, 0) + more.get(key, 0) for key in {**parts, **more}}

    def _saved_and_largest(self, placement: Placement, stage: int) -> tuple[int, int]:
        """Bytes that the stage's chunks keep for one microbatch each, and the most that one of them holds at once."""
        ranges = placement.stage_layers(len(self.counts.pattern))[stage]
        key = (_sizes_key(placement, self.counts), ranges, placement.recompute)
        if key not in self._in_flight:
            chunks = self._stage_chunks(placement, stage)
            received = sum(chunk.lost_input for number, chunk in enumerate(chunks) if stage > 0 or number > 0)
            saved = sum(chunk.saved for chunk in chunks) + received
            self._in_flight[key] = saved, max(chunk.largest.total for chunk in chunks)
        return self._in_flight[key]

    def _logits(self, rank: Sizes) -> int:
        """FP32 copies of the logits that are alive at once in the loss."""
        one = 4 * rank.tokens * rank.vocabulary
        scaled = one if self.choices.scaled_logits else 0
        if self.choices.loss_recompute:
            return 7 * one // 2 + scaled
        if self.choices.loss_chunk:
            return 2 * one + one // -(-rank.tokens // self.choices.loss_chunk) + scaled
        return 3 * one + scaled

    def _optimizer_step(self, held: StageParameters, placement: Placement) -> int:
        """FP32 copies of moments that are kept in fewer bits, all tensors at once."""
        choices = self.choices
        low = sum(1 for count in choices.moment_bytes if count < 4)
        if not low and not choices.optimizer_on_host:
            return 0
        largest = largest_tensor(self.counts.shape, placement, choices, has_embedding=held.has_embedding)
        if choices.optimizer_on_host:
            return 4 * largest
        dense = held.dense // (placement.dp * placement.cp)
        return 4 * low * (dense + (held.experts // placement.edp if held.experts else 0)) + 2 * largest

    def _embedding(self, placement: Placement) -> int:
        return embedding_elements(self.counts.shape, placement.tp, self.choices.vocab_multiple)

    def _sizes_of(self, placement: Placement) -> Sizes:
        key = _sizes_key(placement, self.counts)
        if key not in self._sizes:
            self._sizes[key] = sizes(self.counts.shape, placement, self.choices, self.imbalance)
        return self._sizes[key]

    def _stage_chunks(self, placement: Placement, stage: int) -> tuple[Chunk, ...]:
        ranges = placement.stage_layers(len(self.counts.pattern))[stage]
        key = _sizes_key(placement, self.counts)
        return tuple(
            self._chunk(placement, key, self.counts.pattern[start:end], placement.recompute) for start, end in ranges
        )

    def _chunk(self, placement: Placement, key: tuple[object, ...], pattern: str, recompute: Recomputation) -> Chunk:
        place = (key, pattern, recompute)
        if place not in self._chunks:
            rank = self._sizes_of(placement)
            layers = [self._layer(key, rank, int(digit), recompute.modules) for digit in pattern]
            self._chunks[place] = chunk_of(layers, recompute, rank.input_bytes)
        return self._chunks[place]

    def _layer(self, key: tuple[object, ...], rank: Sizes, kind: int, modules: frozenset[str]) -> LayerMemory:
        place = (key, kind, modules)
        if place not in self._layers:
            shape = self.counts.shape
            self._layers[place] = layer_memory(
                self.counts.kinds[kind],
                rank,
                self.choices,
                modules=modules,
                latent=shape.latent_attention,
                linear=shape.linear_attention,
            )
        return self._layers[place]

    def _resident_parts(self, placement: Placement, stage: int) -> dict[str, int]:
        kind = (0 if stage == 0 else 1, stage == placement.pp - 1)
        ranges = placement.stage_layers(len(self.counts.pattern))[stage]
        key = (_sizes_key(placement, self.counts), kind, ranges, placement.recompute.granularity)
        if key not in self._resident:
            layers = tuple(
                self.counts.kinds[int(digit)] for start, end in ranges for digit in self.counts.pattern[start:end]
            )
            self._resident[key] = resident(
                self.counts.shape, placement, self.choices, self._sizes_of(placement), stage=stage, layers=layers
            )
        return self._resident[key]


def _sizes_key(placement: Placement, counts: ModelParameters) -> tuple[object, ...]:
    """What the sizes of a rank depend on."""
    one_expert = placement.ep >= (counts.shape.num_experts or 1)
    return (
        placement.tp,
        placement.cp,
        placement.etp,
        placement.ep > 1,
        one_expert,
        placement.sequence_parallel,
        placement.row_tokens,
        placement.rows_per_microbatch,
    )
