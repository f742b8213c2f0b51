"""Steps of Megatron-Bridge: Megatron's iteration lines, with a `Step Time :` line of another rank beside them."""

import re
from collections.abc import Iterable

from openrecipes.logs.megatron import MegatronReader
from openrecipes.logs.printed_values import NUMBER
from openrecipes.logs.reader import Finding, Part, Spot, signs
from openrecipes.logs.step import Extras, StepRecord

_STEP_TIME = re.compile(rf"Step Time\s*:\s*({NUMBER})s\b(?:[^|]{{0,80}}?utilization:\s*({NUMBER}))?")
_MARK = re.compile(r"MODEL_TFLOP|mem-(?:max-)?allocated-gigabytes|max attention logit")


class BridgeReader(MegatronReader):
    """Reads iteration lines; the `Step Time :` lines, which have no number, only where there are no others.

    It stands back for Megatron-LM's reader unless something in the log is Megatron-Bridge's own.
    """

    name = "bridge"
    needles = (*MegatronReader.needles, b"Step Time :", b"MODEL_TFLOP", b"mem-allocated-gigabytes")
    is_marked = False
    telling = signs(
        *(MegatronReader.telling.pattern, rb"Step Time\s*:", rb"MODEL_TFLOP", rb"mem-(?:max-)?allocated-gigabytes"),
        rb"max attention logit",
    )

    def __init__(self) -> None:
        super().__init__()
        self._numbered = False
        self._waiting: list[StepRecord] = []

    def find(self, text: str) -> Finding:
        """Iteration records and step times."""
        found = super().find(text)
        times = [
            Part(kind="time", index=None, values=_values(match), start=match.start(), end=match.end())
            for match in _STEP_TIME.finditer(text)
        ]
        mark = _MARK.search(text)
        marks = [Part(kind="mark", index=None, values={}, start=mark.start(), end=mark.start())] if mark else []
        if not times and not marks:
            return found
        # A mark stands anywhere in a record; in front, it is never taken for the record that ends the text.
        parts = (*marks, *sorted((*times, *found.parts), key=lambda part: part.start))
        alone = not found.parts and found.open_at is None
        return Finding(
            parts=parts,
            broken=found.broken,
            open_at=found.open_at,
            open_is_sure=found.open_is_sure,
            may_go_on=found.may_go_on and not alone,
            ends_in_number=found.ends_in_number and not alone,
            fragment=found.fragment and not times,
        )

    def take(self, part: Part, spot: Spot) -> Iterable[StepRecord]:
        """The step of an iteration record; a lone step time waits for the end of the log."""
        if part.kind in ("time", "mark"):
            self.is_marked = True
            seconds = part.values.get("step time")
            if isinstance(seconds, float) and not self._numbered and len(self._waiting) < 100_000:
                rest = {name: value for name, value in part.values.items() if name != "step time"}
                self._waiting.append(
                    StepRecord(
                        step=None,
                        step_time_s=seconds,
                        line=spot.line,
                        file=spot.file,
                        writer=spot.writer,
                        extra=Extras(rest),
                    )
                )
            return
        for step in super().take(part, spot):
            self._numbered = True
            self._waiting.clear()
            yield step

    def finish(self) -> Iterable[StepRecord]:
        """Step times of a log that holds no iteration line, as the one of rank 0."""
        yield from super().finish()
        if not self._numbered:
            yield from self._waiting


def _values(match: re.Match[str]) -> dict[str, float | str]:
    values: dict[str, float | str] = {"step time": float(match.group(1))}
    if match.group(2):
        values["TFLOP/s/GPU"] = float(match.group(2))
    return values
