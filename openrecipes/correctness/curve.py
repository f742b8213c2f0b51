"""A run's loss curve: what the convergence check looks at, whichever log it came from."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from openrecipes.logs.step import StepRecord
from openrecipes.problems import Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One optimizer step, counted from 0; None where the log does not say. `target_tokens` are the supervised ones."""

    step: int
    loss: float | None = None
    grad_norm: float | None = None
    lr: float | None = None
    target_tokens: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """One arm of the comparison. `points` are in the log's order, repeated steps and all.

    `arguments` are the trainer's own, as its dump printed them; empty without a dump. `problems` are those of reading
    the log.
    """

    name: str
    points: tuple[Point, ...]
    arguments: Mapping[str, str] = field(default_factory=dict)
    log_sha256: str | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def steps(self) -> tuple[int, ...]:
        """The numbers of its steps, each once, rising."""
        return tuple(sorted({point.step for point in self.points}))

    @property
    def repeated(self) -> tuple[int, ...]:
        """The numbers that stand more than once, each once, rising."""
        counts = Counter(point.step for point in self.points)
        return tuple(sorted(step for step, count in counts.items() if count > 1))

    @property
    def missing(self) -> tuple[int, ...]:
        """The numbers between 0 and its last step that do not stand in the log, at most the first thousand."""
        have, last = set(self.steps), max(self.steps, default=-1)
        absent: list[int] = []
        for number in range(last + 1):
            if number not in have:
                absent.append(number)
                if len(absent) == 1000:
                    break
        return tuple(absent)

    def by_step(self) -> Mapping[int, Point]:
        """Each step's point; of a repeated step the last."""
        return {point.step: point for point in self.points}


def points_of(
    steps: Sequence[StepRecord], *, first_number: int = 0, supervised: Mapping[int, float] | None = None
) -> tuple[Point, ...]:
    """The points of a log's records; those without a number have no place in a curve.

    `first_number` is the trainer's number of its first step; `supervised` the mean supervised tokens a row by rollout,
    counted from 0, where each rollout has as many steps.
    """
    return tuple(_points(steps, first_number, supervised or {}))


def _points(steps: Sequence[StepRecord], first: int, supervised: Mapping[int, float]) -> Iterator[Point]:
    numbers = {record.step for record in steps if record.step is not None}
    steps_per_rollout = max(1, round(len(numbers) / len(supervised))) if supervised else 1
    for record in steps:
        if record.step is None:
            continue
        number = record.step - first
        mean, rows = supervised.get(number // steps_per_rollout), record.global_batch
        yield Point(
            step=number,
            loss=record.loss,
            grad_norm=record.grad_norm,
            lr=record.lr,
            target_tokens=None if mean is None else mean * (rows or 1),
        )
