"""Steps of torchtitan: `step: 10  loss: 7.1  grad_norm: …  memory: …  tps: 5,000  …`, on one rank or on all."""

import re
from collections.abc import Iterable, Mapping

from openrecipes.logs.printed_values import NUMBER
from openrecipes.logs.reader import Finding, Part, Reader, Spot, signs
from openrecipes.logs.step import Extras, StepRecord
from openrecipes.problems import Problem

_VALUE = rf"(?:{NUMBER}|[-+]?(?:nan|inf))"
_START = re.compile(rf"(?<![A-Za-z_/])step\s*:\s*(\d{{1,19}})\s+(?:[a-z_]*loss\S*)\s*:\s*({_VALUE})(?=\s)")
_PAIR = re.compile(
    rf"([a-z][\w/]{{0,60}})\s*:\s*((?:\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?)|{_VALUE})(GiB|%|s|ms)?(?:\([\d.]+%\))?(?=\s|\Z)"
)
_SIGN = re.compile(r"\b(?:tps|wps|mfu|tflops)\s*:\s*[\d,.]+|\d%\)\s{1,9}t?\Z")
_TIMES = ("time", "step_time", "end_to_end")


class TorchtitanReader(Reader):
    """Reads step lines. They tell tokens a second of one GPU, averaged over the log interval, and no step time."""

    name = "torchtitan"
    separator = r"(?:GiB|%|\()|[a-z]\w*:"
    averages_over_interval = True
    needles = (b"tps: ", b"wps: ", b"mfu: ")
    sure_needles = (b"tps: ", b"wps: ")
    telling = signs(rb"step\s*:\s*\d", rb"(?:tps|wps|mfu|tflops)\s*:\s*[\d,.]", rb"\d%\)\s")

    def __init__(self) -> None:
        self.arguments: Mapping[str, str] = {}
        self.problems: list[Problem] = []

    def find(self, text: str) -> Finding:
        """Step lines wherever they stand in the text."""
        starts = list(_START.finditer(text))
        if not starts:
            return Finding(fragment=_SIGN.search(text) is not None)
        parts: list[Part] = []
        for start, after in zip(starts, [*starts[1:], None], strict=True):
            values: dict[str, float | str] = {}
            end = start.start()
            for pair in _PAIR.finditer(text, start.start(), after.start() if after else len(text)):
                unit = {"ms": 1e-3}.get(pair.group(3) or "", 1.0)
                values.setdefault(pair.group(1), float(pair.group(2).replace(",", "")) * unit)
                end = pair.end()
            parts.append(Part(kind="step", index=int(start.group(1)), values=values, start=start.start(), end=end))
        whole = "mfu" in parts[-1].values or "tps" not in parts[-1].values
        return Finding(parts=tuple(parts), may_go_on=not whole, ends_in_number=not text[parts[-1].end :].strip())

    def take(self, part: Part, spot: Spot) -> Iterable[StepRecord]:
        """The step of a line."""
        values = {name: value for name, value in part.values.items() if isinstance(value, float)}
        loss = next((value for name, value in values.items() if name.endswith("loss")), None)
        named = ("step", "loss", "grad_norm", "lr", *_TIMES)
        yield StepRecord(
            step=part.index,
            step_time_s=next((values[name] for name in _TIMES if name in values), None),
            loss=values.get("loss", loss),
            grad_norm=values.get("grad_norm"),
            lr=values.get("lr"),
            line=spot.line,
            file=spot.file,
            timestamp_s=spot.timestamp_s,
            writer=spot.writer,
            extra=Extras({name: value for name, value in values.items() if name not in named}),
        )

    def knows(self, text: str) -> bool:  # noqa: ARG002
        """Always: a lone tail shows as a gap between steps."""
        return True

    def finish(self) -> Iterable[StepRecord]:
        """Nothing waits."""
        return ()
