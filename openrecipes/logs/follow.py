"""The steps of a log that is still being written."""

from collections.abc import Mapping

from openrecipes.logs import detect
from openrecipes.logs.copies import CopyFilter
from openrecipes.logs.step import StepRecord
from openrecipes.logs.stream import LogStream


class LogFollower:
    """Feed it the log's bytes as they come; each call answers with the steps that these bytes completed.

    A step is told once. One whose line is not complete yet waits for the bytes that complete it.
    """

    def __init__(self, *, format: str | None = None, file: str = "-") -> None:  # noqa: A002
        self._stream = LogStream(file, detect.readers(format))
        self._copies = CopyFilter()
        self._told: dict[str, int] = {}

    @property
    def format(self) -> str | None:
        """The format of the steps so far, or None before the first."""
        best = self._stream.best
        return best.reader.name if best.steps else None

    @property
    def arguments(self) -> Mapping[str, str]:
        """The trainer's own arguments, as far as the log has printed them."""
        return self._stream.dump.values

    def feed(self, data: bytes) -> list[StepRecord]:
        """Steps that `data` completed, in the log's order."""
        if data:
            self._stream.feed(data)
        return self._fresh()

    def close(self) -> list[StepRecord]:
        """Steps still waiting when the log ends: a last line without its end, a step whose timing never came."""
        self._stream.close()
        return self._fresh()

    def _fresh(self) -> list[StepRecord]:
        """Steps of the best format that were not told. A better format, once known, tells no step again."""
        best = self._stream.best
        begin = self._told.get(best.reader.name, 0)
        self._told[best.reader.name] = len(best.steps)
        return [step for step in best.steps[begin:] if not self._copies.is_copy(step)]
