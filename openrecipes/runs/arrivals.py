"""When the lines of a run's log came, by the clock of the machine that wrote it: `log/arrivals.jsonl`.

The launched script writes it beside the log (launch/parts/log_clock.sh.j2): a header, then lines `[from, to, lines]`,
seconds since the header's time by a clock that nobody sets. Line feeds beyond the count of the line before came
after `from` and before `to`. Lines are counted, not bytes: a redacted log keeps its lines.
"""

import json
import math
from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

MAX_BYTES: Final = 64 * 2**20
_MAX_LINE: Final = 4096


class Unfit(Exception):  # noqa: N818  (no error of the program: what the file says of itself)
    """Why a file of arrivals tells nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrival:
    """When a line of the log came: after `after_s` and not after `before_s`, in seconds since 1970 (UTC).

    `look` is the number of the look that found it: lines of one look may have come together.
    """

    after_s: float
    before_s: float
    look: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrivals:
    """The looks at a growing log, in order; each found more lines than the one before it."""

    start_unix_s: float
    _after: "array[float]" = field(default_factory=lambda: array("d"))
    _before: "array[float]" = field(default_factory=lambda: array("d"))
    _lines: "array[int]" = field(default_factory=lambda: array("q"))

    @property
    def lines(self) -> int:
        """Line feeds in the log at the last look."""
        return self._lines[-1] if self._lines else 0

    def of_line(self, line: int) -> Arrival | None:
        """When the end of a line (from 1) came; None for a line after the last look."""
        look = bisect_left(self._lines, line)
        if line < 1 or look == len(self._lines):
            return None
        start = self.start_unix_s
        return Arrival(after_s=start + self._after[look], before_s=start + self._before[look], look=look)

    def add(self, row: Any) -> None:
        """One more look. Raises: Unfit if it cannot follow the ones before it."""
        if not isinstance(row, list) or len(row) != 3 or not all(_is_number(value) for value in row):
            raise Unfit("a line of it is no look at a log")
        after, before, lines = row
        last = self._before[-1] if self._before else 0.0
        if self._after and after < self._after[-1]:
            raise Unfit("its clock goes back")
        if not 0 <= after <= before or before < last:
            raise Unfit("its clock goes back")
        if not isinstance(lines, int) or lines <= self.lines:
            raise Unfit("the log was cut short or replaced while it was written")
        self._after.append(after)
        self._before.append(before)
        self._lines.append(lines)


def arrivals(path: Path) -> Arrivals | None:
    """The arrivals in a file; None where there is none. A last line that was not finished does not count.

    Raises: Unfit for a file that tells nothing, with the reason in words.
    """
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            found = _of_header(file.readline(_MAX_LINE))
            read = 0
            while text := file.readline(_MAX_LINE):
                read += len(text)
                if not text.endswith("\n") or read > MAX_BYTES:
                    break
                found.add(_parsed(text))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unfit(f"it cannot be read: {error.strerror}") from None
    return found


def _of_header(text: str) -> Arrivals:
    header = _parsed(text)
    if not isinstance(header, dict) or header.get("schema_version") != 1 or not _is_number(header.get("start_unix_s")):
        raise Unfit("its first line is no header")
    return Arrivals(start_unix_s=header["start_unix_s"])


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value < 1e12
