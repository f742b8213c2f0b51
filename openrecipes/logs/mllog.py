"""Steps of MLPerf's `:::MLLOG {…}` records: `tracked_stats` with a step time, a loss or a throughput."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from openrecipes.logs.piped_fields import names_by_key, respelt
from openrecipes.logs.printed_values import mapping
from openrecipes.logs.reader import Finding, Part, Reader, Spot, signs
from openrecipes.logs.step import Extras, StepRecord
from openrecipes.problems import Problem

_START = re.compile(r":::MLLOG\s*(?=\{)")
_TIMES = ("train_step_timing in s", "train_step_time", "step_time", "train_step_timing")
_LOSSES = ("reduced_train_loss", "train_loss", "loss")
_KNOWN = names_by_key((*_TIMES, *_LOSSES))
_COUNTERS = ("samples_count", "step", "epoch_num")
_LONGEST_BATCH = 65_536
"""A counter that grows by more than this a step counts tokens, not samples."""


class MllogReader(Reader):
    """Reads MLLOG records. Their counter counts samples or tokens, so its steady growth tells the step numbers."""

    name = "mllog"
    closing = "}"
    needles = (b"MLLOG", b"tracked_stats", b"train_loss")
    sure_needles = (b"MLLOG",)
    telling = signs(rb":::MLLOG\s*\{", rb'"tracked_stats"')

    def __init__(self) -> None:
        self.arguments: Mapping[str, str] = {}
        self.problems: list[Problem] = []
        self._batch: int | None = None
        self._row_tokens: int | None = None
        self._waiting: list[tuple[Part, Spot]] = []
        self._growth: int | None = None
        self._last = 0

    def find(self, text: str) -> Finding:
        """Whole records; JSON wrapped over lines is put together."""
        parts: list[Part] = []
        for start in _START.finditer(text):
            read = mapping(text, start.end())
            if read.end is None:
                if read.unfinished and _START.search(text, start.end()) is None:
                    return Finding(parts=tuple(parts), open_at=start.start())
                begun = Part(kind="cut", index=None, values={}, start=start.start(), end=len(text))
                return Finding(parts=tuple(parts), broken=(begun,))
            if part := _part(read.values, start.start(), read.end):
                parts.append(part)
        return Finding(parts=tuple(parts), fragment=not parts and '"tracked_stats"' in text and not _START.search(text))

    def take(self, part: Part, spot: Spot) -> Iterable[StepRecord]:
        """Steps whose numbers are known by now."""
        if part.kind == "global_batch_size":
            self._batch = part.index
        elif part.kind == "max_sequence_length":
            self._row_tokens = part.index
        elif part.kind == "stats":
            self._waiting.append((part, spot))
            yield from self._numbered(at_end=False)

    def knows(self, text: str) -> bool:  # noqa: ARG002
        """Always: a lone tail shows as a gap between steps."""
        return True

    def finish(self) -> Iterable[StepRecord]:
        """The rest."""
        yield from self._numbered(at_end=True)

    def _numbered(self, *, at_end: bool) -> Iterator[StepRecord]:
        if self._growth is None:
            counters = [part.index for part, _ in self._waiting if part.index is not None]
            grown = [after - before for before, after in pairwise(counters) if after > before]
            if len(grown) < 2 and not at_end:
                return
            self._growth = min(grown, default=counters[0] if counters else 0)
        timed = any(_first(part.values, _TIMES) is not None for part, _ in self._waiting) or self._last > 0
        for part, spot in self._waiting:
            if timed and _first(part.values, (*_TIMES, *_LOSSES)) is None:
                continue  # a total or an average beside the timed steps is no step
            yield self._step(part, spot)
        self._waiting = []

    def _step(self, part: Part, spot: Spot) -> StepRecord:
        a_step, tokens = self._counted_a_step()
        counter = part.index
        number = counter // a_step if counter is not None and a_step and counter % a_step == 0 else None
        interval = max(1, (counter - self._last) // a_step) if counter and a_step and counter > self._last else 1
        self._last = counter or self._last
        named = (*_TIMES, *_LOSSES, "lr", "learning_rate", "grad_norm")
        return StepRecord(
            step=number,
            step_time_s=_first(part.values, _TIMES),
            loss=_first(part.values, _LOSSES),
            grad_norm=_first(part.values, ("grad_norm",)),
            lr=_first(part.values, ("lr", "learning_rate")),
            tokens=tokens,
            global_batch=self._batch,
            interval=interval if _first(part.values, _TIMES) is None else 1,
            line=spot.line,
            file=spot.file,
            timestamp_s=spot.timestamp_s,
            writer=spot.writer,
            extra=Extras({name: value for name, value in part.values.items() if name not in named}),
        )

    def _counted_a_step(self) -> tuple[int, int | None]:
        """How much the counter grows in one optimizer step, and the tokens of a step, where they show."""
        growth = self._growth or 0
        row_tokens = self._batch * self._row_tokens if self._batch and self._row_tokens else None
        if growth > _LONGEST_BATCH:
            return (row_tokens, row_tokens) if row_tokens and growth % row_tokens == 0 else (growth, growth)
        if self._batch and growth >= self._batch and growth % self._batch == 0:
            return self._batch, row_tokens
        return growth, row_tokens


def _part(record: Mapping[str, float | str], start: int, end: int) -> Part | None:
    """The record, if it is one that tells of steps: its counter as the index, its statistics as values."""
    key, value = record.get("key"), record.get("value")
    if key in ("global_batch_size", "max_sequence_length") and isinstance(value, float) and 0 < value < 1e12:
        return Part(kind=str(key), index=int(value), values={}, start=start, end=end)
    metadata = _inner(record.get("metadata"))
    values = respelt(_inner(value), _KNOWN) if key == "tracked_stats" else {str(key): value} if key in _LOSSES else {}
    told = {name: stat for name, stat in values.items() if isinstance(stat, float)}
    if not told or not ({*_TIMES, *_LOSSES, "throughput"} & set(told)):
        return None
    counter = next((count for name in _COUNTERS if isinstance(count := metadata.get(name), float)), None)
    index = int(counter) if counter is not None and 0 <= counter < 1e18 else None
    stamp = record.get("time_ms")
    clock = {"time_ms": stamp} if isinstance(stamp, float) else {}
    return Part(kind="stats", index=index, values={**told, **clock}, start=start, end=end)


def _inner(value: float | str | None) -> Mapping[str, float | str]:
    return mapping(value, 0).values if isinstance(value, str) and value.startswith("{") else {}


def _first(values: Mapping[str, float | str], names: Iterable[str]) -> float | None:
    return next((value for name in names if isinstance(value := values.get(name), float)), None)
