"""Steps of slime and miles logs, all releases: `step N: {…}` and the training kind of `perf N: {…}`."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from openrecipes.logs.printed_values import Printed, mapping, number
from openrecipes.logs.reader import Finding, Part, Reader, Seen, Spot
from openrecipes.logs.step import Extras, StepRecord
from openrecipes.problems import Problem

_START = re.compile(r"((?:[a-z]+-)?)(step|perf)\s*(\d[\d ]{0,24}?)\s*:\s*(?=\{|\[repeated|\Z)")
_KEY = re.compile(r"""['"](?:perf|train)/[^'"\s]{0,80}(?:['"]\s*:|\Z)""")
_PAIR = re.compile(r"""['"]((?:perf|train)/[^'"]{1,80})['"]\s*:\s*([^,}]{1,80})""")
_TELLING = ("perf/step_time", "perf/train_time", "train/loss", "train/grad_norm")
_TIMED = ("perf/step_time", "perf/total_train_time", "perf/actor_train_time", "perf/train_time")
_NAMED = frozenset(
    (
        *(f"train/{key}" for key in ("loss", "grad_norm", "global_batch_size", "step")),
        *(f"perf/{key}" for key in ("step_time", "train_time", "train_wait_time")),
    )
)


class SlimeReader(Reader):
    """Reads slime's records; a `step` and a `perf` are one step by their own numbers, never by position."""

    name = "slime"
    needles = (b"perf/", b"train/", b": [repeated ")
    sure_needles = (b"perf/step_time", b"train/loss")

    def __init__(self) -> None:
        self.arguments: Mapping[str, str] = {}
        self.problems: list[Problem] = []
        self._seen = Seen()
        self._waiting: list[tuple[Part, Spot]] = []
        self._last_index = -1
        self._steps_per_rollout = 0
        self._suspected = 0
        self._held: tuple[Part, Spot, int] | None = None
        self._pairs: set[int] = set()

    def find(self, text: str) -> Finding:
        """Both kinds of record wherever they stand in the text, and a training dict without a number in front."""
        parts: list[Part] = []
        broken: list[Part] = []
        position, whole = 0, False
        while start := _START.search(text, position):
            part, read = _record(text, start)
            follower = _START.search(text, start.end())
            if read.end is not None and (follower is None or read.end <= follower.start()):
                if part is not None:
                    parts.append(part)
                position, whole = read.end, True
            elif read.unfinished and follower is None:
                return Finding(parts=tuple(parts), open_at=start.start(), broken=tuple(broken))
            else:
                if part is not None:
                    broken.append(part)
                position = start.end()
        if not whole and not broken and (key := _KEY.search(text)):
            bare = _without_number(text, key.start())
            return Finding(parts=(bare,) if bare else (), fragment=True)
        return Finding(parts=tuple(parts), broken=tuple(broken))

    def take(self, part: Part, spot: Spot) -> Iterable[StepRecord]:
        """Steps complete with this record: a `step` waits for its `perf`."""
        if self._seen.is_copy(part, spot.timestamp_s):
            return
        self._pairs.update(hash((key, part.values[key])) for key in _TELLING if key in part.values)
        if part.kind == "step":
            if part.index is not None and part.index <= self._last_index:
                yield from self._flush()
            self._waiting.append((part, spot))
            self._last_index = -1 if part.index is None else part.index
        elif part.kind == "perf":
            yield from self._timed(part, spot)

    def knows(self, text: str) -> bool:
        """Whether a time or loss in this tail was read before."""
        pairs = ((key, number(value)) for key, value in _PAIR.findall(text))
        return any(hash(pair) in self._pairs for pair in pairs)

    def finish(self) -> Iterable[StepRecord]:
        """Steps whose timing never came, or came for the first time with several steps before it."""
        yield from self._release(self._suspected or 1)
        yield from self._flush()

    def _flush(self) -> Iterator[StepRecord]:
        waiting, self._waiting = self._waiting, []
        yield from (_step(part, spot, None) for part, spot in waiting)

    def _timed(self, perf: Part, spot: Spot) -> Iterator[StepRecord]:
        """The optimizer steps that this timing covers: those numbered rollout x k to rollout x k + k - 1."""
        if perf.index is None:
            yield _step(None, spot, _Timing(perf, 1))
            return
        if not self._steps_per_rollout:
            suspected = self._run_length(perf.index)
            if not self._held and suspected > 1:
                # Two steps before the first timing: a rollout of two, or lines out of order. The next one tells.
                self._suspected = suspected
                self._held = (perf, spot, len(self._waiting))
                return
            yield from self._release(self._suspected if suspected == self._suspected else 1)
        yield from self._cover(perf, spot)

    def _release(self, steps_per_rollout: int) -> Iterator[StepRecord]:
        """Settle how many steps a rollout has, and time the steps of a rollout that waited for that."""
        self._steps_per_rollout = self._steps_per_rollout or _declared(self.arguments) or steps_per_rollout
        if self._held:
            (perf, spot, count), self._held = self._held, None
            later, self._waiting = self._waiting[count:], self._waiting[:count]
            yield from self._cover(perf, spot)
            self._waiting += later

    def _cover(self, perf: Part, spot: Spot) -> Iterator[StepRecord]:
        count = self._steps_per_rollout
        first = (perf.index or 0) * count
        covered = range(first, first + count)
        before = [pair for pair in self._waiting if pair[0].index is not None and pair[0].index < first]
        mine = [pair for pair in self._waiting if pair[0].index in covered]
        self._waiting = [pair for pair in self._waiting if pair not in before and pair not in mine]
        yield from (_step(part, place, None) for part, place in before)
        if not mine:
            yield replace(_step(None, spot, _Timing(perf, count)), step=covered[-1], interval=count)
        for part, place in mine:
            yield _step(part, replace(place, timestamp_s=spot.timestamp_s), _Timing(perf, count))
        self._last_index = max(self._last_index, covered[-1])

    def _run_length(self, rollout: int) -> int:
        """How many steps a rollout would have if exactly those that wait were this rollout's, or 0."""
        held = self._held[2] if self._held else 0
        indices = [part.index for part, _ in self._waiting[held:]]
        count = len(indices)
        return count if indices == list(range(rollout * count, (rollout + 1) * count)) else 0


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


def _record(text: str, start: re.Match[str]) -> tuple[Part | None, Printed]:
    """The record at a start and how its mapping reads; no part for kinds that are no training record."""
    index = start.group(3).replace(" ", "")
    if text[start.end() : start.end() + 1] != "{":
        read = Printed({}, None, unfinished=start.end() >= len(text))
    else:
        read = mapping(text, start.end())
    kind = _kind(start.group(1) + start.group(2), read)
    end = read.end if read.end is not None else start.end()
    if kind is None or len(index) > 19:
        return None, read
    return Part(kind=kind, index=int(index), values=read.values, start=start.start(), end=end), read


def _kind(word: str, read: Printed) -> str | None:
    if read.end is None:
        return word if word in ("step", "perf") and not any(key.startswith("rollout/") for key in read.values) else None
    if word == "step" and any(key.startswith("train/") for key in read.values):
        return "step"
    if word == "perf" and any(key in read.values for key in _TIMED):
        return "perf"
    return None


def _without_number(text: str, key_at: int) -> Part | None:
    """A training dict that stands alone, as some forks print it; its number is its own `train/step`, if any."""
    brace = text.rfind("{", max(0, key_at - 4), key_at)
    if brace < 0:
        return None
    read = mapping(text, brace)
    if read.end is None:
        return None
    kind = "perf" if any(key in read.values for key in _TIMED[:2]) else "step" if "train/loss" in read.values else None
    own = read.values.get("train/step")
    index = int(own) if isinstance(own, float) and own.is_integer() and own < 1e18 else None
    if kind is None or (kind == "step" and index is None):
        return None
    return Part(kind=kind, index=index, values=read.values, start=brace, end=read.end)


def _step(step: Part | None, spot: Spot, timing: _Timing | None) -> StepRecord:
    """One StepRecord from a `step` record, its timing, or both."""
    trained = step.values if step else {}
    timed = timing.perf.values if timing else {}
    steps = timing.steps if timing else 1
    share = {key: _float(timed, key) for key in (*_TIMED[:2], "perf/train_time", "perf/train_wait_time")}
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
