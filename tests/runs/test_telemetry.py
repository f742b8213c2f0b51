"""Telemetry files become one line a GPU, within the window alone, whatever else the files hold."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.runs.telemetry import Spread, telemetry

FIELDS = (
    "index",
    "sm_clock_mhz",
    "memory_clock_mhz",
    "power_w",
    "temperature_c",
    "memory_temperature_c",
    "memory_used_mib",
    "utilisation_percent",
    "throttle_reasons",
)
HEADER = {"schema_version": 1, "host": "n1", "interval_s": 5, "fields": list(FIELDS), "unix_s": 0}
END = {"unix_s": 1e6, "ended": "signal"}


def _row(index: int = 0, clock: float = 1980, reasons: int | None = 0) -> list[float | None]:
    return [index, clock, 3201, 650, 60, None, 1000, 99, reasons]


def _write(folder: Path, *lines: object, host: str = "n1") -> Path:
    folder.mkdir(exist_ok=True)
    text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    (folder / f"{host}.jsonl").write_text(text, encoding="utf-8")
    return folder


def test_only_samples_in_the_window_count_both_ends_included(tmp_path: Path) -> None:
    samples = [{"unix_s": t, "gpus": [_row(clock=1000 + t)]} for t in range(10)]
    (gpu,) = telemetry(_write(tmp_path, HEADER, *samples, END), 3, 5).gpus
    assert gpu.samples == 3
    assert gpu.sm_clock_mhz == Spread(mean=1004, min=1003, max=1005)
    assert gpu.memory_temperature_c == Spread(mean=None, min=None, max=None)


def test_throttling_is_heat_and_brakes_and_not_the_power_cap(tmp_path: Path) -> None:
    masks = [0x4, 0x4, 0x44, 0x0]
    samples = [{"unix_s": t, "gpus": [_row(reasons=mask)]} for t, mask in enumerate(masks)]
    found = telemetry(_write(tmp_path, HEADER, *samples, END), 0, 9)
    (gpu,) = found.gpus
    assert gpu.throttle_share == 0.25
    assert gpu.reason_shares == {"sw_power_cap": 0.75, "hw_thermal_slowdown": 0.25}
    assert found.throttled == (gpu,)
    capped = telemetry(_write(tmp_path, HEADER, {"unix_s": 1, "gpus": [_row(reasons=0x4)]}, END), 0, 9)
    assert capped.throttled == ()


def test_unknown_throttle_reasons_are_not_none_at_all(tmp_path: Path) -> None:
    (gpu,) = telemetry(_write(tmp_path, HEADER, {"unix_s": 1, "gpus": [_row(reasons=None)]}, END), 0, 9).gpus
    assert gpu.throttle_share is None


def test_gpus_of_all_nodes_come_by_host_and_index(tmp_path: Path) -> None:
    for host in ("n2", "n1"):
        _write(tmp_path, HEADER, {"unix_s": 1, "gpus": [_row(1), _row(0)]}, END, host=host)
    found = telemetry(tmp_path, 0, 9)
    assert [(gpu.host, gpu.index) for gpu in found.gpus] == [("n1", 0), ("n1", 1), ("n2", 0), ("n2", 1)]
    assert json.loads(json.dumps(found.document()))["gpus"][3]["host"] == "n2"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((), "no header"),
        ((HEADER, END), "no sample"),
        ((HEADER, {"unix_s": 1, "gpus": [_row()]}), "killed"),
        ((HEADER, "not json\n", {"unix_s": 1, "gpus": [_row()]}, END), "1 lines or rows"),
        ((HEADER, {"unix_s": 1, "gpus": [[1, 2]]}, {"unix_s": 1, "gpus": [_row()]}, END), "1 lines or rows"),
        ((HEADER, {"unix_s": 1, "error": "nvidia-smi is not installed"}, END), "not installed"),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, lines: tuple[object, ...], words: str) -> None:
    notes = telemetry(_write(tmp_path, *lines), 0, 9).notes
    assert any(words in note for note in notes), notes


def test_a_whole_file_has_no_notes_and_an_absent_folder_has_one(tmp_path: Path) -> None:
    assert telemetry(_write(tmp_path / "t", HEADER, {"unix_s": 1, "gpus": [_row()]}, END), 0, 9).notes == ()
    assert len(telemetry(tmp_path / "absent", 0, 9).notes) == 1


@given(
    st.lists(
        st.one_of(
            st.recursive(
                st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
                lambda inner: (
                    st.lists(inner, max_size=10)
                    | st.dictionaries(
                        st.sampled_from(["unix_s", "gpus", "error", "fields", "ended"]), inner, max_size=5
                    )
                ),
                max_leaves=12,
            ),
        ),
        max_size=6,
    )
)
def test_foreign_lines_never_end_in_a_traceback(tmp_path_factory: pytest.TempPathFactory, lines: list[object]) -> None:
    folder = _write(
        tmp_path_factory.mktemp("t"),
        HEADER,
        *(json.dumps(line) + "\n" for line in lines),
        {"unix_s": 1, "gpus": [_row()]},
        END,
    )
    found = telemetry(folder, 0, 9)
    assert found.gpus
