"""Which optimizer steps a rollout's timing belongs to, by their own numbers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from openrecipes.logs.printed_values import number
from openrecipes.logs.reader import Part, Spot
from openrecipes.logs.step import Extras, StepRecord

_NAMED = frozenset(
    (
        *(f"train/{key}" for key in ("loss", "grad_norm", "global_batch_size", "step")),
        *(f"perf/{key}" for key in ("step_time", "train_time", "train_wait_time")),
    )
)


@dataclass(slots=True)
class Rollouts:
    """Binds `step N` to `perf R`: rollout R has the steps R x k to R x k + k - 1, where k shows in the log."""

    _waiting: list[tuple[Part, Spot]] = field(default_factory=list)
    _held: list[tuple[Part, Spot, int]] = field(default_factory=list)
    _last_index: int = -1
    _steps_per_rollout: int = 0
    _suspected: int = 0

    def flush(self) -> Iterator[StepRecord]:
        """All that waits: steps whose timing never came, timings that did not tell yet whose they are."""
        if self._held:
            yield from self._release(self._suspected or 1)
        waiting, self._waiting = self._waiting, []
        yield from (_step(part, spot, None) for part, spot in waiting)

    def trained(self, step: Part, spot: Spot) -> Iterator[StepRecord]:
        """Take a `step` record; a number that went before means a second run, so what waits will not be timed."""
        index = -1 if step.index is None else step.index
        if index <= self._last_index:
            yield from self.flush()
        self._waiting.append((step, spot))
        self._last_index = index

    def timed(self, perf: Part, spot: Spot, arguments: Mapping[str, str]) -> Iterator[StepRecord]:
        """The optimizer steps that this timing covers: those numbered rollout x k to rollout x k + k - 1."""
        if perf.index is None:
            yield _step(None, spot, _Timing(perf, 1, spot.line))
            return
        self._steps_per_rollout = self._steps_per_rollout or _declared(arguments)
        if self._steps_per_rollout:
            yield from self._cover(perf, spot)
            return
        self._held.append((perf, spot, len(self._waiting)))
        found = self._tell_steps_per_rollout(perf.index)
        if found:
            yield from self._release(found)

    def _tell_steps_per_rollout(self, rollout: int) -> int:
        """How many optimizer steps a rollout has, or 0 where the log does not tell yet.

        Two steps before `perf 0` are a rollout of two, or lines out of order: the next rollout tells.
        """
        held = self._held[-2][2] if len(self._held) > 1 else 0
        indices = [part.index for part, _ in self._waiting[held:]]
        count = len(indices)
        fits = bool(indices) and indices == list(range(rollout * count, (rollout + 1) * count))
        if fits and (count == 1 or rollout > 0 or count == self._suspected):
            return count
        self._suspected = count if fits else 0
        return 0 if fits or (not indices and len(self._held) < 3) else 1

    def _release(self, steps_per_rollout: int) -> Iterator[StepRecord]:
        """Settle how many steps a rollout has, and time the steps of the rollouts that waited for that."""
        self._steps_per_rollout = steps_per_rollout
        held, self._held = self._held, []
        waiting, self._waiting = self._waiting, []
        taken = 0
        for perf, spot, count in held:
            self._waiting += waiting[taken:count]
            taken = count
            yield from self._cover(perf, spot)
        self._waiting += waiting[taken:]

    def _cover(self, perf: Part, spot: Spot) -> Iterator[StepRecord]:
        count = self._steps_per_rollout
        first = (perf.index or 0) * count
        covered = range(first, first + count)
        before = [pair for pair in self._waiting if pair[0].index is not None and pair[0].index < first]
        mine = [pair for pair in self._waiting if pair[0].index in covered]
        self._waiting = [pair for pair in self._waiting if pair not in before and pair not in mine]
        yield from (_step(part, place, None) for part, place in before)
        if not mine:
            yield replace(_step(None, spot, _Timing(perf, count, spot.line)), step=covered[-1], interval=count)
        for part, place in mine:
            yield _step(part, replace(place, timestamp_s=spot.timestamp_s), _Timing(perf, count, spot.line))
        self._last_index = max(self._last_index, covered[-1])


def _declared(arguments: Mapping[str, str]) -> int:
    """Optimizer steps a rollout by the trainer's own arguments, or 0 where they do not say."""
    if arguments.get("num_steps_per_rollout", "None").isdecimal():
        return int(arguments["num_steps_per_rollout"])
    names = ("rollout_batch_size", "n_samples_per_prompt", "global_batch_size")
    rows, samples, batch = (number(arguments.get(name, "")) for name in names)
    if not rows or not batch or not (rows * (samples or 1) / batch).is_integer():
        return 0
    return int(rows * (samples or 1) / batch)


@dataclass(frozen=True, slots=True)
class _Timing:
    perf: Part
    steps: int
    line: int


def _step(step: Part | None, spot: Spot, timing: _Timing | None) -> StepRecord:
    """One StepRecord from a `step` record, its timing, or both."""
    trained = step.values if step else {}
    timed = timing.perf.values if timing else {}
    steps = timing.steps if timing else 1
    share = {
        key: _float(timed, key)
        for key in ("perf/step_time", "perf/total_train_time", "perf/train_time", "perf/train_wait_time")
    }
    step_time_s = share["perf/step_time"] if share["perf/step_time"] is not None else share["perf/total_train_time"]
    rest = {key: value for key, value in (*trained.items(), *timed.items()) if key not in _NAMED}
    batch = _float(trained, "train/global_batch_size")
    return StepRecord(
        step=step.index if step else None,
        step_time_s=_over(step_time_s, steps),
        train_time_s=_over(share["perf/train_time"], steps),
        wait_time_s=_over(share["perf/train_wait_time"], steps),
        loss=_float(trained, "train/loss"),
        grad_norm=_float(trained, "train/grad_norm"),
        lr=next(
            (value for key, value in trained.items() if key.startswith("train/lr") and isinstance(value, float)), None
        ),
        tokens=_tokens(timed, steps),
        global_batch=int(batch) if batch is not None and batch.is_integer() else None,
        line=spot.line,
        timed_line=timing.line if timing and timing.line != spot.line else None,
        file=spot.file,
        timed_over=steps,
        timestamp_s=spot.timestamp_s,
        writer=spot.writer,
        extra=Extras(rest),
    )


def _float(values: Mapping[str, float | str], key: str) -> float | None:
    value = values.get(key)
    return value if isinstance(value, float) else None


def _over(value: float | None, steps: int) -> float | None:
    return None if value is None else value / steps


def _tokens(timed: Mapping[str, float | str], steps: int) -> int | None:
    """Tokens a step by the trainer's own rate: tokens a second x seconds, which is a whole number but for rounding."""
    rate, seconds = _float(timed, "perf/actor_train_tok_per_s"), _float(timed, "perf/actor_train_time")
    if rate is None or seconds is None or not 0 < rate * seconds < 1e15:
        return None
    tokens = rate * seconds / steps
    return round(tokens) if abs(tokens - round(tokens)) <= 1e-6 * tokens + 1e-3 else None
