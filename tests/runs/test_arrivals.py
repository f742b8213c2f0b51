"""When a log's lines came, as the launched script wrote it down."""

from pathlib import Path

import pytest
from arrivals_of import write_arrivals
from hypothesis import given, settings
from hypothesis import strategies as st

from openrecipes.runs.arrivals import arrivals

seconds = st.floats(0, 500).map(lambda value: round(value, 2))


@settings(deadline=None)
@given(st.lists(seconds, min_size=1, max_size=40).map(sorted), st.sampled_from([0.5, 1.0, 7.0]))
def test_each_line_came_between_two_looks(
    tmp_path_factory: pytest.TempPathFactory, times: list[float], interval_s: float
) -> None:
    path = tmp_path_factory.mktemp("log") / "arrivals.jsonl"
    write_arrivals(path, times, start_unix_s=1000.0, interval_s=interval_s)
    found = arrivals(path)
    assert found is not None
    assert found.lines == len(times)
    assert found.of_line(0) is found.of_line(len(times) + 1) is None
    for line, time in enumerate(times, 1):
        came = found.of_line(line)
        assert came is not None
        assert came.after_s <= 1000 + time <= came.before_s
        assert came.before_s - came.after_s <= interval_s + 1e-6


def test_no_file_is_no_arrivals(tmp_path: Path) -> None:
    assert arrivals(tmp_path / "arrivals.jsonl") is None
