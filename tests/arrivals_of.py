"""The arrivals that a launch would have written beside a log whose lines came at given times. For tests."""

import json
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path

from openrecipes.runs.directory import RunDirectory


def write_arrivals(
    run: RunDirectory | Path, line_times: Sequence[float], *, start_unix_s: float, interval_s: float = 1.0
) -> None:
    """Looks every `interval_s` from the start on; `line_times` are seconds after the start, one a line, in order."""
    looks: Iterable[int] = count()
    rows, told, since = [], 0, 0.0
    for number in looks:
        look = number * interval_s
        lines = sum(time <= look for time in line_times)
        if lines > told:
            rows.append([since, look, lines])
            told = lines
        since = look
        if told == len(line_times):
            break
    path = run.arrivals if isinstance(run, RunDirectory) else run
    header = {"schema_version": 1, "start_unix_s": start_unix_s}
    path.write_text("".join(f"{json.dumps(one)}\n" for one in (header, *rows)))
