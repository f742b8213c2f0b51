"""Steps of verl: `step:N - key:value - key:value …` on one line, in RL and in SFT."""

import re
from collections.abc import Iterable, Mapping

from openrecipes.logs.printed_values import NUMBER, number
from openrecipes.logs.reader import Finding, Part, Reader, Spot, signs
from openrecipes.logs.step import Extras, StepRecord
from openrecipes.problems import Problem

_START = re.compile(r"(?<![A-Za-z_/])step\s*:\s*(\d{1,19})\s*-\s+(?=[A-Za-z])")
_PAIR = re.compile(
    rf"([A-Za-z][\w/.@()+%-]{{0,200}}?)\s*:\s*((?:np\.)?float\d*\([^)]*\)|tensor\([^)]*\)|{NUMBER}|[-+]?(?:nan|inf))"
    r"(?=\s|\Z|[\[({\"'\\]|-\s|[A-Za-z])"
)
# `global_sestep:3` or `global_step:3` right behind `step:2 - `: a second record's beginning.
_GLUED = re.compile(r"[\w/]*step:(\d{1,19})")
_TIMES = ("timing_s/step", "perf/time_per_step", "train/time(s)", "timing_s/train_step")
_LOSSES = ("train/loss", "actor/loss", "actor/pg_loss")
_NORMS = ("train/grad_norm", "actor/grad_norm")
_TOKENS = ("perf/total_num_tokens", "train/global_tokens")
_NAMED = frozenset((*_TIMES, *_LOSSES[:1], *_NORMS, *_TOKENS))
_SIGN = re.compile(r"(?:\s-\s+|\A\s*(?:-\s+)?)(?:timing_s|perf|actor|critic|train|(?:response|prompt)_length)/[\w/]*")


class VerlReader(Reader):
    """Reads training lines; a line with nothing but validation values is no step."""

    name = "verl"
    separator = r"-\s"
    needles = (b"timing_s/", b"perf/time_per", b"actor/", b"train/loss", b"train/time", b"train/lr")
    sure_needles = (b"timing_s/step", b"train/loss")
    telling = signs(
        rb"step\s*:\s*\d",
        rb"(?:-\s+|[\r\n]\s*)(?:timing_s|perf|actor|critic|train|(?:response|prompt)_length)/",
    )

    def __init__(self) -> None:
        self.arguments: Mapping[str, str] = {}
        self.problems: list[Problem] = []
        self._last = ""

    def find(self, text: str) -> Finding:
        """Whole lines; one that a wrap cut inside a key is put together."""
        starts = list(_START.finditer(text))
        if not starts:
            return Finding(fragment=_SIGN.search(text) is not None)
        parts: list[Part] = []
        part, open_number = None, False
        for start, after in zip(starts, [*starts[1:], None], strict=True):
            part, open_number = _part(text, start, after.start() if after else len(text))
            if _is_training(part):
                parts.append(part)
        if part is not None and not _is_training(part):
            return Finding(parts=tuple(parts), open_at=part.start, open_is_sure=False)
        return Finding(parts=tuple(parts), may_go_on=True, ends_in_number=open_number)

    def take(self, part: Part, spot: Spot) -> Iterable[StepRecord]:
        """The step of a line."""
        values = {name: value for name, value in part.values.items() if isinstance(value, float)}
        if self._last and values and self._last not in values:
            # A line that ends before the key in which the one before it ended was cut, perhaps inside a number.
            values.popitem()
        self._last = next(reversed(list(part.values)), "")
        tokens = _first(values, _TOKENS)
        # A learning rate of 1e-06 prints as 0.000, so a zero says nothing.
        rates = [value for name, value in values.items() if re.fullmatch(r"(?:actor|train)/lr(?:\(.*\))?", name)]
        scale = 1e-3 if "train/lr(1e-3)" in values else 1.0
        yield StepRecord(
            step=part.index,
            step_time_s=_first(values, _TIMES),
            train_time_s=values.get("timing_s/update_actor"),
            loss=_first(values, _LOSSES),
            grad_norm=_first(values, _NORMS),
            lr=rates[0] * scale if rates and rates[0] else None,
            tokens=int(tokens) if tokens is not None and 0 <= tokens < 1e15 and tokens.is_integer() else None,
            line=spot.line,
            file=spot.file,
            timestamp_s=spot.timestamp_s,
            writer=spot.writer,
            extra=Extras({name: value for name, value in values.items() if name not in _NAMED}),
        )

    def knows(self, text: str) -> bool:  # noqa: ARG002
        """Always: a lone tail shows as a gap between steps."""
        return True

    def finish(self) -> Iterable[StepRecord]:
        """Nothing waits."""
        return ()


def _part(text: str, start: re.Match[str], stop: int) -> tuple[Part, bool]:
    """The pairs after a start, up to the first stretch that holds none; and whether the text ends in a number."""
    values: dict[str, float | str] = {}
    position = start.end()
    for pair in _PAIR.finditer(text, start.end(), stop):
        glued = None if values else _GLUED.fullmatch(pair.group(0))
        told_twice = pair.group(1) in values or (glued is not None and int(glued.group(1)) != int(start.group(1)))
        if told_twice or not _is_separator(text[position : pair.start()], first=not values):
            break  # what is told a second time is another record's, whose beginning is broken
        # Where another writer goes on right behind a time, it may have broken it off.
        is_whole = pair.group(1) not in _TIMES or not text[pair.end() : pair.end() + 1].isalpha()
        if is_whole and (value := number(pair.group(2))) is not None:
            values.setdefault(pair.group(1), value)
        position = pair.end()
    open_number = stop == len(text) and not text[position:].strip()
    return Part(kind="step", index=int(start.group(1)), values=values, start=start.start(), end=position), open_number


def _is_separator(between: str, *, first: bool) -> bool:
    """Whether two pairs belong to one line: a dash between them, or a dash, something unreadable and a dash."""
    gap = between.strip()
    return gap == "-" or (first and not gap) or (len(gap) < 400 and gap.startswith("-") and gap.endswith("-"))


def _is_training(part: Part) -> bool:
    names = part.values.keys()
    return any(name in names for name in (*_TIMES, *_LOSSES, *_NORMS))


def _first(values: Mapping[str, float], names: Iterable[str]) -> float | None:
    return next((values[name] for name in names if name in values), None)
