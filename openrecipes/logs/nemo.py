"""Steps of NeMo: the `Training epoch E, iteration I/N | …` lines of NeMo 2, NeMo 1's progress bars, DLLogger's JSON."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from openrecipes.logs.piped_fields import Fields, fields, names_by_key, respelt
from openrecipes.logs.printed_values import Printed, mapping, number
from openrecipes.logs.reader import Finding, Part, Reader, Spot, signs
from openrecipes.logs.step import Extras, StepRecord
from openrecipes.problems import Problem

_LINE = re.compile(r"Training\s*epoch\s*(\d{1,9})\s*,\s*iteration\s*(\d{1,19})\s*/\s*(\d{1,19}|\?)\s*\|")
_BAR = re.compile(r"Epoch\s*(\d{1,9})\s*:[^\[\]]{0,600}?(\d{1,19})\s*/\s*(\d{1,19}|\?)\s*\[([^\[\]]{0,2000})\]")
_BAR_BEGUN = re.compile(r"Epoch\s*\d{1,9}\s*:[^\[\]]{0,600}?\d{1,19}\s*/\s*(?:\d{1,19}|\?)\s*\[[^\[\]]{0,2000}\Z")
_DLLL = re.compile(r"DLLL\s*(?=\{)")
_PAIR = re.compile(r"([A-Za-z_][\w ]*?)=([^,\]]*)")
_RATE = re.compile(r"([\d.]+)\s*(it/s|s/it)")
_SIGN = re.compile(
    r"\|\s*(?:global_?|reduced|train_step|consumed)|(?:train_loss|_step|_samples|timing in s)['\"]?\s*[:=]"
)
_TIME, _LOSS, _STEP = "train_step_timing in s", "reduced_train_loss", "global_step"
_KNOWN = names_by_key(
    (
        *(_TIME, _LOSS, _STEP, "lr", "global_batch_size", "consumed_samples", "grad_norm", "val_loss"),
        *("peak_memory_usage", "TFLOPS_per_GPU", "tokens_per_sec_per_gpu", "train_backward_timing in s"),
    )
)
_NAMED = frozenset((_TIME, _LOSS, _STEP, "lr", "global_batch_size", "grad_norm"))


class NemoReader(Reader):
    """Reads one record a step; its number is `global_step`, not the iteration, which begins again each epoch."""

    name = "nemo"
    needles = (b"reduced_train_loss", b"train_step_timing", b"Training epoch", b"global_step", b"consumed_samples")
    sure_needles = (b"reduced_train_loss",)
    telling = signs(
        *(
            rb"Training\s*epoch\s*\d{1,9}\s*,\s*iteration\s*\d",
            rb"Epoch\s*\d{1,9}\s*:",
            rb"DLLL\s*\{",
            rb"\|\s*(?:global_?|reduced|train_step|consumed)",
        ),
        rb"(?:train_loss|_step|_samples|timing in s)['\"]?\s*[:=]",
    )

    def __init__(self) -> None:
        self.arguments: Mapping[str, str] = {}
        self.problems: list[Problem] = []
        self._goes_on = False

    def find(self, text: str) -> Finding:
        """All three kinds of record, wherever they stand in the text."""
        if found := _dllogger(text):
            return found
        bars = [bar for match in _BAR.finditer(text) if (bar := _bar(match)) is not None]
        if bars:
            return Finding(parts=tuple(bars))
        starts = list(_LINE.finditer(text))
        if not starts:
            if begun := _BAR_BEGUN.search(text):
                return Finding(open_at=begun.start(), open_is_sure="reduced_train_loss" in text)
            return Finding(fragment=_SIGN.search(text) is not None)
        parts: list[Part] = []
        read = Fields(values={}, after_slash={}, end=0)
        for start, after in zip(starts, [*starts[1:], None], strict=True):
            read = fields(text, start.end(), after.start() if after else len(text), _KNOWN)
            parts.append(_line(start, read))
        told = {**parts[-1].values}
        if not {_TIME, _LOSS} & set(told):
            return Finding(parts=tuple(parts[:-1]), open_at=parts[-1].start, open_is_sure=bool(read.values))
        goes_on = "consumed_samples" not in told or bool(read.open_number) or _TIME not in told
        return Finding(parts=tuple(parts), may_go_on=goes_on, ends_in_number=bool(read.open_number))

    def take(self, part: Part, spot: Spot) -> Iterable[StepRecord]:
        """The step of a record."""
        is_whole = "consumed_samples" in part.values
        if self._goes_on and part.kind == "open" and not is_whole:
            # Where others end in their samples, one that ends before them was cut, perhaps inside its last number.
            part = replace(part, values=dict(list(part.values.items())[:-1]))
        self._goes_on = self._goes_on or (part.kind != "bar" and is_whole)
        yield _step(part, spot)

    def knows(self, text: str) -> bool:  # noqa: ARG002
        """Always: a lone tail shows as a gap between steps."""
        return True

    def finish(self) -> Iterable[StepRecord]:
        """Nothing waits."""
        return ()


def _line(start: re.Match[str], read: Fields) -> Part:
    """A NeMo 2 line. Without a global step, the iteration is the step in the first epoch only."""
    own = read.values.get(_STEP)
    first_epoch = int(start.group(2)) if start.group(1) == "0" else None
    index = _whole(own) if own is not None else first_epoch
    spoiled: dict[str, float | str] = {name: "" for name in read.spoiled if name == "consumed_samples"}
    kind = "open" if read.open_number else "line"
    return Part(kind=kind, index=index, values={**read.values, **spoiled}, start=start.start(), end=read.end)


def _bar(match: re.Match[str]) -> Part | None:
    """A progress bar with a loss or a timing in it."""
    printed = respelt({key.strip(): value.strip() for key, value in _PAIR.findall(match.group(4))}, _KNOWN)
    values: dict[str, float | str] = {key: value for key in printed if (value := number(printed[key])) is not None}
    if not {_TIME, _LOSS, "loss"} & set(values) or _STEP not in printed:
        return None
    if rate := _RATE.search(match.group(4)):
        pace = float(rate.group(1))
        values["mean s/it"] = pace if rate.group(2) == "s/it" else 1 / pace if pace else 0.0
    return Part(
        kind="bar",
        index=_exact(printed[_STEP], int(match.group(2))),
        values={**values, "progress": f"{match.group(2)}/{match.group(3)}"},
        start=match.start(),
        end=match.end(),
    )


def _exact(printed: str, progress: int) -> int | None:
    """The step number, unless it is rounded: `3.1e+4` is one only if the bar's own counter agrees."""
    value = number(printed)
    if value is None or not value.is_integer() or not 0 <= value < 1e18:
        return None
    if "e" in printed.lower():
        return int(value) if int(value) in (progress, progress - 1) else None
    return int(value)


def _dllogger(text: str) -> Finding | None:
    """DLLogger's lines: JSON with a `data` object."""
    parts: list[Part] = []
    broken: list[Part] = []
    for match in _DLLL.finditer(text):
        read = mapping(text, match.end())
        if read.unfinished:
            return Finding(parts=tuple(parts), open_at=match.start(), broken=tuple(broken))
        inner = read.values.get("data")
        found = mapping(inner, 0) if isinstance(inner, str) and inner.startswith("{") else Printed({}, read.end)
        data = respelt(found.values, _KNOWN)
        if (read.end is None or found.end is None) and (_TIME in text or _LOSS in text):
            broken.append(Part(kind="cut", index=None, values={}, start=match.start(), end=len(text)))
        elif {_TIME, _LOSS} & set(data):
            own = read.values.get("step", data.get(_STEP))
            index = _whole(own) if isinstance(own, float) else None
            parts.append(Part(kind="line", index=index, values=data, start=match.start(), end=read.end or len(text)))
    return Finding(parts=tuple(parts), broken=tuple(broken)) if parts or _DLLL.search(text) else None


def _whole(value: float) -> int | None:
    return int(value) if value.is_integer() and 0 <= value < 1e19 else None


def _step(part: Part, spot: Spot) -> StepRecord:
    values = {name: value for name, value in part.values.items() if isinstance(value, float)}
    batch = values.get("global_batch_size")
    # A bar moves with every microbatch: its counter would make one step's repeated prints look different.
    rest = {name: value for name, value in part.values.items() if name not in _NAMED}
    if part.index is not None:
        rest.pop("progress", None)
    return StepRecord(
        step=part.index,
        step_time_s=values.get(_TIME),
        loss=values.get(_LOSS, values.get("loss")),
        grad_norm=values.get("grad_norm"),
        lr=values.get("lr"),
        global_batch=_whole(batch) if batch is not None else None,
        line=spot.line,
        file=spot.file,
        timestamp_s=spot.timestamp_s,
        writer=spot.writer,
        extra=Extras(rest),
    )
