"""Activations of one model chunk: what it keeps for a microbatch, and the instant at which most of it is alive."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from openrecipes.plan.layer import LayerMemory, Moment
from openrecipes.plan.placement import Recomputation

Parts = Counter[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """Neighbouring layers that are kept whole, or of which only the input is kept and which are computed again."""

    layers: tuple[LayerMemory, ...]
    is_recomputed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """An instant of a chunk's backward (or forward) pass: bytes alive in that chunk, and where it is."""

    total: int
    unit: int
    layer: int
    moment: Moment


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """A model chunk for one microbatch.

    `saved` stays until the backward pass. `lost_input` is its input where its first layer does not keep it: then the
    model's forward frame does, and the schedule where the input was received from another stage.
    """

    units: tuple[Unit, ...]
    input_bytes: int
    saved: int
    lost_input: int
    largest: Candidate


def chunk_of(layers: Sequence[LayerMemory], recompute: Recomputation, input_bytes: int) -> Chunk:
    """A chunk of these layers, as Megatron checkpoints them; `input_bytes` are the hidden states between layers."""
    parts = units(layers, recompute)
    first = parts[0]
    lost = 0 if first.is_recomputed or first.layers[0].keeps_input else input_bytes
    return Chunk(
        units=parts,
        input_bytes=input_bytes,
        saved=sum(_unit_saved(unit, input_bytes) for unit in parts),
        lost_input=lost,
        largest=_largest(parts, input_bytes, lost),
    )


def units(layers: Sequence[LayerMemory], recompute: Recomputation) -> tuple[Unit, ...]:
    """A chunk's layers in the units that are recomputed together.

    Source: Megatron-LM 1dcf0daf, core/transformer/transformer_block.py, _checkpointed_forward.
    """
    if recompute.granularity != "full":
        return tuple(Unit(layers=(layer,), is_recomputed=False) for layer in layers)
    if recompute.method == "block":
        return tuple(
            Unit(layers=(layer,), is_recomputed=number < recompute.num_layers) for number, layer in enumerate(layers)
        )
    step = recompute.num_layers
    starts = range(0, len(layers), step)
    return tuple(Unit(layers=tuple(layers[start : start + step]), is_recomputed=True) for start in starts)


def saved_parts(chunk: Chunk) -> Parts:
    """What a chunk keeps, part by part; sums to `saved`."""
    parts: Parts = Counter()
    for unit in chunk.units:
        parts.update(_unit_parts(unit, chunk.input_bytes))
    return parts


def largest_parts(chunk: Chunk) -> Parts:
    """What is alive at the chunk's largest instant, part by part; sums to its total."""
    found, input_bytes = chunk.largest, chunk.input_bytes
    unit = chunk.units[found.unit]
    parts: Parts = Counter({"stage_input": chunk.lost_input})
    for before in chunk.units[: found.unit]:
        parts.update(_unit_parts(before, input_bytes))
    parts.update(found.moment.parts)
    if not unit.is_recomputed:
        parts["layer_input"] += input_bytes if unit.layers[found.layer].keeps_input else 0
        parts["hidden_gradients"] += input_bytes if found.moment.is_backward else 0
        return parts
    parts["layer_input"] += input_bytes
    for layer in unit.layers[: found.layer]:
        parts.update(layer.saved)
        parts["layer_input"] += input_bytes if layer.keeps_input else 0
    done = _done_after_each(chunk.units)[found.unit]
    parts["layer_input"] += done * input_bytes
    parts["hidden_gradients"] += done * input_bytes + _own_gradients(found.moment, input_bytes, done)
    return parts


def _largest(chunk: Sequence[Unit], input_bytes: int, lost_input: int) -> Candidate:
    """The instant at which the chunk holds the most; its units are walked in forward order."""
    best, alive = (-1, 0, 0), lost_input
    dones = _done_after_each(chunk)
    for number, unit in enumerate(chunk):
        inner = alive + (input_bytes if unit.is_recomputed else 0)
        for position, layer in enumerate(unit.layers):
            total = inner + _moment_of(layer, unit, input_bytes, dones[number])[0]
            if total > best[0]:
                best = (total, number, position)
            inner += layer.saved_total + (input_bytes if layer.keeps_input else 0)
        alive += _unit_saved(unit, input_bytes)
    total, number, position = best
    unit = chunk[number]
    moment = _moment_of(unit.layers[position], unit, input_bytes, dones[number])[1]
    return Candidate(total=total, unit=number, layer=position, moment=moment)


def _moment_of(layer: LayerMemory, unit: Unit, input_bytes: int, done: int) -> tuple[int, Moment]:
    """The larger of a layer's moments with what stands beside it, and that moment."""
    first, second = layer.moments
    totals = [
        moment.total
        + (
            2 * done * input_bytes + _own_gradients(moment, input_bytes, done)
            if unit.is_recomputed
            else input_bytes * (layer.keeps_input + moment.is_backward)
        )
        for moment in (first, second)
    ]
    return (totals[0], first) if totals[0] >= totals[1] else (totals[1], second)


def _done_after_each(chunk: Sequence[Unit]) -> list[int]:
    """For each unit, the recomputed ones behind it whose input and its gradient are still alive in its backward pass.

    A dispatcher keeps the routing probabilities of its last forward pass, and with them the graph that made them.
    """
    counts, count = [0] * len(chunk), 0
    for number in range(len(chunk) - 1, -1, -1):
        counts[number] = count
        unit = chunk[number]
        count += unit.is_recomputed and unit.layers[-1].routes
    return counts


def _own_gradients(moment: Moment, input_bytes: int, done: int) -> int:
    """The gradient that comes in, unless it is one of those retained; in a backward moment two hidden states more."""
    return (0 if done else input_bytes) + (2 * input_bytes if moment.is_backward else 0)


def _unit_saved(unit: Unit, input_bytes: int) -> int:
    if unit.is_recomputed:
        return input_bytes
    return sum(layer.saved_total + (input_bytes if layer.keeps_input else 0) for layer in unit.layers)


def _unit_parts(unit: Unit, input_bytes: int) -> Parts:
    if unit.is_recomputed:
        return Counter({"layer_input": input_bytes})
    parts: Parts = Counter()
    for layer in unit.layers:
        parts.update(layer.saved)
        parts["layer_input"] += input_bytes if layer.keeps_input else 0
    return parts
