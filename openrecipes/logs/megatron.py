"""Steps of Megatron-LM's `iteration N/ M | … |` lines, 2019 to today, and of what grew from it.

Megatron-DeepSpeed, MindSpeed, Primus and nanotron print the same line with other keys and units.
"""

import re
from collections.abc import Iterable, Mapping

from openrecipes.logs.piped_fields import Fields, fields, names_by_key
from openrecipes.logs.reader import Finding, Part, Reader, Spot, signs
from openrecipes.logs.step import Extras, StepRecord
from openrecipes.problems import Place, Problem

_START = re.compile(r"(?<!epoch )iteration\s*:?\s*(\d{1,19})\s*/\s*(\d{1,19})\s*\|", re.IGNORECASE)
_NEMO = re.compile(r"epoch\s+\d+\s*,\s*\Z", re.IGNORECASE)
_OVERFLOW = re.compile(r"OVERFLOW! Rank 0 Skipping step")
_UNITS = {
    "elapsed time per iteration (ms)": 1e3,
    "elapsed time per iteration (s)": 1.0,
    "elapsed_time_per_iteration_ms": 1e3,
}
_LOSSES = ("lm loss", "loss")
_RATES = ("learning rate", "lr")
_KNOWN = names_by_key(
    (
        *_UNITS,
        *_LOSSES,
        *_RATES,
        *("global batch size", "grad norm", "loss scale", "consumed samples", "consumed tokens", "skipped samples"),
        *("number of skipped iterations", "number of nan iterations", "num zeros", "params norm", "TFLOPs"),
        *("throughput per GPU (TFLOP/s/GPU)", "TFLOP/s/GPU", "samples per second", "load_balancing_loss"),
        *("tokens per GPU (tokens/s/GPU)", "tokens_per_sec", "tokens_per_sec_per_gpu", "decoupled learning rate"),
        *("energy per GPU (J/iter/GPU)", "power per GPU (W/GPU)", "max attention logit"),
    )
)
_NAMED = frozenset((*_UNITS, *_LOSSES, *_RATES, "global batch size", "grad norm", "number of skipped iterations"))
_SIGN = re.compile(r"\((?:ms|s)\)\s*:|\|\s*(?:lm|learning|loss|grad|number|global|consumed)|\blm.loss\b", re.IGNORECASE)
_NEARLY_WHOLE = ("| elapsed time per iteration", "number of nan iterations")
_DECOY = re.compile(r"\bvalidation\b|\blm.loss.value|\btest\b.*\bset\b|\btime \(ms\)", re.IGNORECASE)


class MegatronReader(Reader):
    """Reads iteration lines; with a log interval over 1 a line is the mean of that many iterations."""

    name = "megatron"
    needles: tuple[bytes, ...] = (
        *(b"elapsed time", b"per iteration", b"lm loss", b"lm-loss", b"consumed samples", b"skipped iterations"),
        *(b"nan iterations", b"elapsed_time_per_iteration", b"OVERFLOW!"),
    )
    sure_needles: tuple[bytes, ...] = (b"elapsed time per iteration", b"elapsed_time_per_iteration")
    needles_beside: tuple[bytes, ...] = (b"OVERFLOW!",)
    beside_signs: tuple[bytes, ...] = (b"deepspeed", b"DeepSpeed", b"OVERFLOW!")
    telling = signs(
        *(rb"OVERFLOW!", rb"(?i:iteration\s*:?\s*\d)", rb"(?i:\((?:ms|s)\)\s*:)", rb"(?i:lm.loss)"),
        rb"(?i:\|\s*(?:lm|learning|loss|grad|number|global|consumed))",
    )
    averages_over_interval = True

    def __init__(self) -> None:
        self.arguments: Mapping[str, str] = {}
        self.problems: list[Problem] = []
        self._overflows = 0
        self._overflowed: list[Spot] = []
        self._last: int | None = None

    def find(self, text: str) -> Finding:
        """Iteration records wherever they stand in the text, and DeepSpeed's skipped steps."""
        starts = [
            start
            for start in _START.finditer(text)
            if not _NEMO.search(text[max(0, start.start() - 40) : start.start()])
        ]
        parts = [
            Part(kind="overflow", index=None, values={}, start=match.start(), end=match.end())
            for match in _OVERFLOW.finditer(text)
        ]
        if not starts:
            tail = not parts and _SIGN.search(text) is not None and _DECOY.search(text) is None
            return Finding(parts=tuple(parts), fragment=tail)
        broken: list[Part] = []
        open_at, may_go_on, ends_in_number = None, False, False
        for start, after in zip(starts, [*starts[1:], None], strict=True):
            read = fields(text, start.end(), after.start() if after else len(text), _KNOWN)
            part = _part(int(start.group(1)), start.start(), read)
            if read.spoiled or _is_cut(read):
                broken.append(Part(kind="field", index=part.index, values={}, start=start.start(), end=read.end))
            if part.kind == "step":
                parts.append(part)
                may_go_on = after is None and "number of nan iterations" not in read.values
            elif after is None:
                open_at = start.start()
            ends_in_number = after is None and bool(read.open_number)
        return Finding(
            parts=tuple(parts),
            broken=tuple(broken),
            open_at=open_at,
            open_is_sure=open_at is not None and bool(read.values),
            may_go_on=may_go_on,
            ends_in_number=ends_in_number,
        )

    def take(self, part: Part, spot: Spot) -> Iterable[StepRecord]:
        """The step of an iteration record."""
        if part.kind == "overflow":
            self._overflows += 1
            self._overflowed.append(spot)
            return
        skipped = _count(part.values, "number of skipped iterations")
        if self._overflows:
            skipped = max(skipped or 0, self._overflows)
            self._overflows = 0
        yield _step(part, spot, skipped)

    def knows(self, text: str) -> bool:
        """Whether it is no more than a tail, which shows as a gap between iterations: much else looks like one."""
        return not all(sign in text for sign in _NEARLY_WHOLE)

    def finish(self) -> Iterable[StepRecord]:
        """No step waits; says how many steps DeepSpeed skipped."""
        if self._overflowed:
            first = self._overflowed[0]
            count = len(self._overflowed)
            self.problems.append(
                Problem(
                    place=Place(file=first.file, line=first.line),
                    rule="steps-skipped",
                    severity="warning",
                    what=f"{count} optimizer step{'s' if count > 1 else ''} skipped by an overflow; the iteration "
                    "lines do not count them",
                    mend="lower the learning rate or the loss scale; a skipped step trains nothing",
                )
            )
        return ()


def _is_cut(read: Fields) -> bool:
    """Whether the line ends inside a number: no release ends one in its time, nor, but for abridged ones, its loss."""
    abridged = not {"learning rate", "consumed samples", "loss scale"} & set(read.values)
    return read.open_number in _UNITS or (read.open_number in (*_LOSSES, *_RATES, "grad norm") and not abridged)


def _part(iteration: int, start: int, read: Fields) -> Part:
    """A step where the record has a time or a loss; else a record that has only begun."""
    values = {name: value for name, value in read.values.items() if name != read.open_number or not _is_cut(read)}
    told = any(name in values for name in (*_UNITS, *_LOSSES))
    averages = {f"{name}, running average": value for name, value in read.after_slash.items()}
    return Part(
        kind="step" if told else "begun",
        index=iteration,
        values={**values, **averages},
        start=start,
        end=read.end,
    )


def _step(part: Part, spot: Spot, skipped: int | None) -> StepRecord:
    values = {name: value for name, value in part.values.items() if isinstance(value, float)}
    times = [values[name] / unit for name, unit in _UNITS.items() if name in values]
    grad_norm = values.get("grad norm")
    return StepRecord(
        step=part.index,
        step_time_s=times[0] if times else None,
        loss=next((values[name] for name in _LOSSES if name in values), None),
        # Printed to three digits, and as 0.000 where it was not computed: a zero says nothing.
        grad_norm=grad_norm if grad_norm != 0 else None,
        lr=next((values[name] for name in _RATES if name in values), None),
        skipped=skipped,
        global_batch=_count(part.values, "global batch size"),
        line=spot.line,
        file=spot.file,
        timestamp_s=spot.timestamp_s,
        writer=spot.writer,
        extra=Extras({name: value for name, value in values.items() if name not in _NAMED}),
    )


def _count(values: Mapping[str, float | str], name: str) -> int | None:
    value = values.get(name)
    return int(value) if isinstance(value, float) and 0 <= value < 1e15 and value.is_integer() else None
