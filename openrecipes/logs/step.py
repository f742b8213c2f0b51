"""What one optimizer step left in a log."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


class Extras(Mapping[str, float | str]):
    """Everything else that a record said, by the trainer's own key.

    Keys are one tuple shared by all records of the same shape, so that 300,000 records stay small.
    """

    __slots__ = ("_keys", "_values")
    _shapes: dict[tuple[str, ...], tuple[str, ...]] = {}  # noqa: RUF012  (shared on purpose)

    def __init__(self, values: Mapping[str, float | str] | None = None) -> None:
        keys = tuple(values or ())
        if len(self._shapes) < 4096:
            keys = self._shapes.setdefault(keys, keys)
        self._keys = keys
        self._values = tuple((values or {}).values())

    def __getitem__(self, key: str) -> float | str:
        try:
            return self._values[self._keys.index(key)]
        except ValueError:
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __hash__(self) -> int:
        return hash((self._keys, self._values))

    def __repr__(self) -> str:
        return f"Extras({dict(self)!r})"


@dataclass(frozen=True, kw_only=True, slots=True)
class StepRecord:
    """One optimizer step as the log tells it; None where the log does not say.

    `step` is the trainer's own number, from 0 or from 1. Times are seconds. `step_time_s` is one full cycle,
    end of the previous step to end of this one; `train_time_s` and `wait_time_s` are its two parts.
    With a log interval over 1 the record stands for `interval` steps and its values are their mean.
    With several optimizer steps between two timings, each of these steps has its own record and
    `step_time_s` is the mean over `timed_over` of them. `tokens` is what the trainer counted for this step
    (some slime releases count one data-parallel rank only). `attempt` counts the log's restarts from 0.
    `timed_line` is the line that tells the time, where that is another than `line`.
    """

    step: int | None
    step_time_s: float | None = None
    train_time_s: float | None = None
    wait_time_s: float | None = None
    loss: float | None = None
    grad_norm: float | None = None
    lr: float | None = None
    tokens: int | None = None
    line: int = 0
    timed_line: int | None = None
    file: str = ""
    interval: int = 1
    timed_over: int = 1
    skipped: int | None = None
    global_batch: int | None = None
    timestamp_s: float | None = None
    attempt: int = 0
    writer: str = ""
    extra: Mapping[str, float | str] = field(default_factory=Extras)

    def document(self) -> dict[str, Any]:
        """The record as strict JSON: non-finite numbers are the texts "nan", "inf" and "-inf"."""
        return {
            "step": self.step,
            "step_time_s": plain(self.step_time_s),
            "train_time_s": plain(self.train_time_s),
            "wait_time_s": plain(self.wait_time_s),
            "loss": plain(self.loss),
            "grad_norm": plain(self.grad_norm),
            "lr": plain(self.lr),
            "tokens": self.tokens,
            "line": self.line,
            "file": self.file,
            "interval": self.interval,
            "timed_over": self.timed_over,
            "skipped": self.skipped,
            "global_batch": self.global_batch,
            "timestamp_s": self.timestamp_s,
            "attempt": self.attempt,
            "extra": {key: plain(value) for key, value in self.extra.items()},
        }


def plain(value: float | str | None) -> float | str | None:
    """The value, or its text where JSON has no number for it."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value
