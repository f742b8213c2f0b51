"""Records that several ranks, files or printings hold of the same step, and which of them counts."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from openrecipes.logs.sources import natural
from openrecipes.logs.step import StepRecord
from openrecipes.problems import Place, Problem

_NEAR = 5.0
"""Seconds within which all ranks print the same step."""
_RECENT = 512


@dataclass(slots=True)
class CopyFilter:
    """Drops a record that was there before: the same values, or another rank's line of the same step."""

    ranks: int = 0
    _seen: dict[int, float | None] = field(default_factory=dict)
    _recent: dict[int, StepRecord] = field(default_factory=dict)

    def is_copy(self, step: StepRecord) -> bool:
        """Whether a record before this one said the same."""
        if step.step is None:
            return False
        if self._is_same(step):
            return True
        other = self._recent.get(step.step)
        if other is not None and _is_other_rank(step, other):
            self.ranks += 1
            return True
        self._recent[step.step] = step
        if len(self._recent) > _RECENT:
            del self._recent[next(iter(self._recent))]
        return False

    def _is_same(self, step: StepRecord) -> bool:
        times = (step.step_time_s, step.train_time_s, step.wait_time_s)
        identity = hash(repr((step.step, *times, step.loss, step.grad_norm, step.lr, step.tokens, step.extra)))
        if identity not in self._seen:
            self._seen[identity] = step.timestamp_s
            return False
        earlier = self._seen[identity]
        return earlier is None or step.timestamp_s is None or earlier == step.timestamp_s


def _is_other_rank(step: StepRecord, other: StepRecord) -> bool:
    """Whether two records of one step are two ranks' lines: the same loss at the same time, nearly the same seconds."""
    if step.loss is None or other.loss is None or not _same(step.loss, other.loss):
        return False
    if step.timestamp_s is None or other.timestamp_s is None:
        return _near(step.step_time_s, other.step_time_s) and step.writer != other.writer
    return abs(step.timestamp_s - other.timestamp_s) <= _NEAR and _near(step.step_time_s, other.step_time_s)


def _same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def _near(a: float | None, b: float | None) -> bool:
    return a is None or b is None or abs(a - b) <= 0.05 * max(abs(a), abs(b))


def one_rank(steps: Sequence[StepRecord]) -> tuple[tuple[StepRecord, ...], tuple[Problem, ...]]:
    """The steps of one file as one rank tells them, where several ranks with values of their own wrote into it.

    Ranks write side by side; a restarted process writes after the one before it. Only the first are copies.
    """
    spans: dict[str, list[int]] = {}
    numbers: dict[str, set[int]] = {}
    for position, step in enumerate(steps):
        if step.writer and step.step is not None:
            spans.setdefault(step.writer, [position, position])[1] = position
            numbers.setdefault(step.writer, set()).add(step.step)
    rivals = {name for name in spans if any(_side_by_side(name, other, spans, numbers) for other in spans)}
    if not rivals:
        return tuple(steps), ()
    first = steps[min(spans[name][0] for name in rivals)]
    kept = min(rivals, key=lambda name: (-len(numbers[name]), natural(name)))
    problem = Problem(
        place=Place(file=first.file, line=first.line),
        rule="rank-copies",
        severity="warning",
        what=f"{len(rivals)} ranks print each step with values of their own; the steps are those of {kept}",
        mend="nothing, if that rank speaks for all; else read the log of the rank that does",
    )
    return tuple(step for step in steps if step.writer not in rivals or step.writer == kept), (problem,)


def _side_by_side(name: str, other: str, spans: dict[str, list[int]], numbers: dict[str, set[int]]) -> bool:
    if name == other or not numbers[name] & numbers[other]:
        return False
    return spans[name][0] < spans[other][1] and spans[other][0] < spans[name][1]


def in_run_order(files: Iterable[Sequence[StepRecord]]) -> Iterator[Sequence[StepRecord]]:
    """Files by when they were written, where all say it; else by their first step if no step is in two of them."""
    listed = [file for file in files if file]
    stamps = [next((step.timestamp_s for step in file if step.timestamp_s is not None), None) for file in listed]
    if all(stamp is not None for stamp in stamps):
        order = sorted(range(len(listed)), key=lambda index: stamps[index] or 0.0)
    else:
        firsts = [min((step.step for step in file if step.step is not None), default=0) for file in listed]
        numbers = [{step.step for step in file} for file in listed]
        apart = sum(len(of_file) for of_file in numbers) == len(set().union(*numbers))
        order = sorted(range(len(listed)), key=lambda index: firsts[index] if apart else index)
    yield from (listed[index] for index in order)
