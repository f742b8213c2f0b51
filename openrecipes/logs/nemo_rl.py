"""Steps of NeMo-RL: a `===== Step 5/100 =====` header, then `• Loss:` and `• Total step time:` lines."""

import re
from collections.abc import Iterable, Mapping

from openrecipes.logs.printed_values import NUMBER
from openrecipes.logs.reader import Finding, Part, Reader, Spot, signs
from openrecipes.logs.step import Extras, StepRecord
from openrecipes.problems import Problem

_BULLET = "•".encode()
_HEADER = re.compile(r"==\s{0,9}(Step|Epoch)\s*(\d{1,19})\s*/\s*(\d{1,19})(?=\s|=|\Z)")
_ITEM = re.compile(
    r"(?:•|â€¢|\ufffd|\*|-|\?)\s*([A-Za-z][\w /.()-]{0,60}?)\s*:\s*(" + NUMBER + r"|[-+]?(?:nan|inf))(?:\s*(ms|s))?"
    r"(?=\s|\Z|[\[({\"'\\A-Z])"
)
_BEGUN = re.compile(
    r"(?:•|â€¢|\ufffd)\s{0,9}(?:[A-Za-z][\w /.()-]{0,60}?\s*(?::\s*[-+]?\.?)?)?\Z"
    r"|={5}\s{0,9}(?:[SE]|St|Ste|Ep|Epo|Epoc|(?:Step|Epoch)\s*(?:\d{1,19}\s*/?)?)?\s*\Z"
)
"""An item or a header of which more must follow: a wrap may have cut it."""
_TAIL = re.compile(r"\d\s{0,9}={5,64}\s{0,9}\Z")
_KEPT = 40


class NemoRlReader(Reader):
    """Reads a step's block: its number from the header, its loss and its time from the lines that follow.

    The number begins again in each epoch; the steps of the epochs before it are added.
    """

    name = "nemo-rl"
    separator = r"m?s(?:\s|\Z)"
    needles = (
        *(b" =====", b"= Step ", b"= Epoch ", b"Loss:", b"otal step time", b"policy_training", b"Grad Norm"),
        _BULLET,
    )
    sure_needles = (b"= Step ", b"= Epoch ", b"Loss:", b"otal step time", b"policy_training")
    telling = signs(rb"={5}", rb"==\s{0,9}(?:Step|Epoch)", rb"[*?-]\s*[A-Za-z]")

    def __init__(self) -> None:
        self.arguments: Mapping[str, str] = {}
        self.problems: list[Problem] = []
        self._values: dict[str, float | str] = {}
        self._number: int | None = None
        self._spot: Spot | None = None
        self._before = 0
        self._epoch = 1
        self._highest = 0

    def find(self, text: str) -> Finding:
        """Headers and bulleted values."""
        parts = [
            Part(
                kind=match.group(1).lower(), index=int(match.group(2)), values={}, start=match.start(), end=match.end()
            )
            for match in _HEADER.finditer(text)
        ]
        open_at: int | None = None
        for match in _ITEM.finditer(text):
            unit = 1e-3 if match.group(3) == "ms" else 1.0
            name = " ".join(match.group(1).split())
            kind = "total" if name.lower() == "total step time" else "item"
            if kind == "total" and not match.group(3):
                open_at = match.start()  # it always has its unit: a wrap cut it off, or another writer
                continue
            value = float(match.group(2)) * (unit if match.group(3) else 1.0)
            parts.append(Part(kind=kind, index=None, values={name: value}, start=match.start(), end=match.end()))
        last = max((part.end for part in parts), default=0)
        parts.sort(key=lambda part: part.start)
        if parts and parts[-1].kind in ("step", "epoch"):
            last = len(text) - len(text[last:].lstrip(" ="))
        if not parts and _TAIL.search(text):
            return Finding(fragment=True)
        if begun := _BEGUN.search(text, last):
            return Finding(parts=tuple(parts), open_at=begun.start(), open_is_sure=False)
        if open_at is not None:
            return Finding(parts=tuple(parts), open_at=open_at, open_is_sure=False)
        in_number = bool(parts) and not text[last:].strip() and text[last - 1] in "0123456789."
        return Finding(parts=tuple(parts), may_go_on=in_number, ends_in_number=in_number)

    def take(self, part: Part, spot: Spot) -> Iterable[StepRecord]:
        """The step, once its total time is told; a step without one, when the next begins."""
        if part.kind == "epoch" and part.index is not None:
            yield from self.finish()
            if part.index > self._epoch:
                self._before, self._highest = self._before + self._highest, 0
            self._epoch = part.index
        elif part.kind == "step":
            yield from self.finish()
            self._number, self._spot, self._values = part.index, spot, {}
            self._highest = max(self._highest, part.index or 0)
        elif part.kind == "total":
            self._values.update(part.values)
            yield self._step(self._spot or spot)
            self._number, self._spot, self._values = None, None, {}
        elif self._number is not None and len(self._values) < _KEPT:
            self._values.update({name: value for name, value in part.values.items() if name not in self._values})

    def knows(self, text: str) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def finish(self) -> Iterable[StepRecord]:
        """A step that began, trained and never told its time."""
        if self._spot is not None and "Loss" in self._values:
            yield self._step(self._spot)
        self._number, self._spot, self._values = None, None, {}

    def _step(self, spot: Spot) -> StepRecord:
        values = {name.lower(): value for name, value in self._values.items() if isinstance(value, float)}
        return StepRecord(
            step=None if self._number is None else self._before + self._number,
            step_time_s=values.get("total step time"),
            train_time_s=values.get("policy_training"),
            loss=values.get("loss"),
            grad_norm=values.get("grad norm", values.get("grad_norm")),
            lr=values.get("lr"),
            line=spot.line,
            file=spot.file,
            timestamp_s=spot.timestamp_s,
            writer=spot.writer,
            extra=Extras(
                {name: value for name, value in self._values.items() if name not in ("Loss", "Total step time")}
            ),
        )
