"""Steps of ms-swift: dicts with `'global_step/max_steps': '5/100'` or `'iteration': '5/100'`, on Megatron or not."""

import re
from collections.abc import Iterable, Mapping

from openrecipes.logs.printed_values import mapping
from openrecipes.logs.reader import Finding, Part, Reader, Spot, signs
from openrecipes.logs.step import Extras, StepRecord
from openrecipes.problems import Problem

_START = re.compile(r"\{\s*(?=['\"](?:loss|lm loss|grad_norm|learning_rate|train_speed|iteration|global_step)\b)")
_NUMBERED = re.compile(r"(\d{1,19})\s*/\s*\d{1,19}")
_NUMBERS = ("iteration", "global_step/max_steps")
_TIMES = {
    "elapsed_time_per_iteration": 1.0,
    "elapsed_time_per_iteration(s)": 1.0,
    "elapsed_time_per_iteration(ms)": 1e3,
}
_SIGN = re.compile(
    r"['\"](?:global_step/max_steps|train_speed\(|remaining_time|elapsed_time|memory\(GiB|learning_rate')"
)


class SwiftReader(Reader):
    """Reads the dicts. Their `train_speed` is an average since the start, so most of them tell no step time."""

    name = "swift"
    closing = "}"
    averages_over_interval = True
    needles = (
        b"train_speed(",
        b"global_step/max_steps",
        b"remaining_time",
        b"elapsed_time",
        b"memory(GiB)",
        b"learning_rate'",
    )
    sure_needles = (b"train_speed(", b"elapsed_time_per_iteration")
    telling = signs(
        rb"\{\s*['\"](?:loss|lm loss|grad_norm|learning_rate|train_speed|iteration|global_step)",
        rb"['\"](?:global_step/max_steps|train_speed\(|remaining_time|elapsed_time|memory\(GiB|learning_rate')",
    )

    def __init__(self) -> None:
        self.arguments: Mapping[str, str] = {}
        self.problems: list[Problem] = []

    def find(self, text: str) -> Finding:
        """Whole dicts wherever they stand in the text."""
        parts: list[Part] = []
        for start in _START.finditer(text):
            read = mapping(text, start.start())
            if read.end is None:
                if read.unfinished:
                    return Finding(
                        parts=tuple(parts), open_at=start.start(), open_is_sure=_SIGN.search(text) is not None
                    )
                continue
            number = next((read.values[name] for name in _NUMBERS if name in read.values), None)
            match = _NUMBERED.fullmatch(number) if isinstance(number, str) else None
            if match and "loss" in "".join(read.values):
                index = int(match.group(1))
                parts.append(Part(kind="step", index=index, values=read.values, start=start.start(), end=read.end))
        return Finding(parts=tuple(parts), fragment=not parts and _SIGN.search(text) is not None)

    def take(self, part: Part, spot: Spot) -> Iterable[StepRecord]:
        """The step of a dict."""
        values = {name: value for name, value in part.values.items() if isinstance(value, float)}
        if not any(name.endswith("loss") and not name.startswith("eval") for name in values):
            return
        named = (*_TIMES, *_NUMBERS, "loss", "lm loss", "grad_norm", "learning_rate")
        yield StepRecord(
            step=part.index,
            step_time_s=next((values[name] / unit for name, unit in _TIMES.items() if name in values), None),
            loss=values.get("loss", values.get("lm loss")),
            grad_norm=values.get("grad_norm"),
            lr=values.get("learning_rate"),
            line=spot.line,
            file=spot.file,
            timestamp_s=spot.timestamp_s,
            writer=spot.writer,
            extra=Extras({name: value for name, value in part.values.items() if name not in named}),
        )

    def knows(self, text: str) -> bool:  # noqa: ARG002
        """Always: a lone tail shows as a gap between steps."""
        return True

    def finish(self) -> Iterable[StepRecord]:
        """Nothing waits."""
        return ()
