"""The sampler writes what nvidia-smi says, ends with its job, and never disturbs it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openrecipes.runs.telemetry import telemetry
from openrecipes.shipped import shipped

PROGRAM = shipped("launch", "telemetry.py")
TWO_GPUS = (
    "0, 1980, 3201, 650.12, 61, 70, 120000, 99, 0x0000000000000004\n"
    "1, 1410, 3201, 500.00, 84, [N/A], 120001, 98, 0x0000000000000048\n"
)


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a program of that name first on PATH: its body is shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def install(body: str) -> None:
        (folder / "nvidia-smi").write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (folder / "nvidia-smi").chmod(0o755)

    return install


def _start(folder: Path, *options: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, str(PROGRAM), str(folder), *options])


def _lines(folder: Path) -> list[dict[str, object]]:
    files = list(folder.glob("*.jsonl"))
    assert len(files) == 1
    return [json.loads(line) for line in files[0].read_text(encoding="utf-8").splitlines()]


def _wait_for(samples: int, folder: Path) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if any(p.read_bytes().count(b"\n") > samples for p in folder.glob("*.jsonl")):
            return
        time.sleep(0.02)
    raise AssertionError("no sample was written")


def test_samples_go_to_the_nodes_file_until_it_is_told_to_stop(
    tmp_path: Path, nvidia_smi: Callable[[str], None]
) -> None:
    nvidia_smi(f"printf '%s' '{TWO_GPUS}'")
    started, folder = time.time(), tmp_path / "telemetry"
    sampler = _start(folder, "--interval", "0.05")
    _wait_for(3, folder)
    sampler.send_signal(signal.SIGTERM)
    assert sampler.wait(20) == 0
    header, *samples, last = _lines(folder)
    assert header["schema_version"] == 1
    assert last["ended"] == "signal"
    assert samples[0]["gpus"] == [
        [0, 1980, 3201, 650.12, 61, 70, 120000, 99, 4],
        [1, 1410, 3201, 500, 84, None, 120001, 98, 0x48],
    ]
    found = telemetry(folder, started - 1, time.time())
    assert [gpu.index for gpu in found.gpus] == [0, 1]
    assert found.notes == ()
    assert [gpu.index for gpu in found.throttled] == [1]


def test_it_asks_for_the_fields_that_it_names(tmp_path: Path, nvidia_smi: Callable[[str], None]) -> None:
    said = tmp_path / "asked"
    nvidia_smi(f"printf '%s\\n' \"$@\" > {said}")
    folder = tmp_path / "telemetry"
    sampler = _start(folder, "--interval", "0.05")
    _wait_for(1, folder)
    sampler.terminate()
    sampler.wait(20)
    query = said.read_text(encoding="utf-8").splitlines()[0]
    assert len(query.removeprefix("--query-gpu=").split(",")) == len(_lines(folder)[0]["fields"])  # type: ignore[arg-type]
    assert "clocks_throttle_reasons.active" in query


def test_it_ends_when_the_job_is_gone(tmp_path: Path, nvidia_smi: Callable[[str], None]) -> None:
    nvidia_smi(f"printf '%s' '{TWO_GPUS}'")
    job = subprocess.Popen(["sleep", "60"])
    sampler = _start(tmp_path / "t", "--interval", "0.05", "--parent", str(job.pid))
    _wait_for(1, tmp_path / "t")
    assert sampler.poll() is None
    job.kill()
    assert sampler.wait(20) == 0  # while the job is a zombie that nobody reaped
    job.wait()
    assert _lines(tmp_path / "t")[-1]["ended"] == "parent ended"


def test_the_file_never_grows_past_its_largest_size(tmp_path: Path, nvidia_smi: Callable[[str], None]) -> None:
    nvidia_smi(f"printf '%s' '{TWO_GPUS}'")
    sampler = _start(tmp_path / "t", "--interval", "0.05", "--max-bytes", "4096")
    assert sampler.wait(60) == 0
    (file,) = (tmp_path / "t").glob("*.jsonl")
    assert 3000 < file.stat().st_size <= 4096
    assert _lines(tmp_path / "t")[-1]["ended"] == "largest size reached"


@pytest.mark.parametrize(
    ("body", "words"),
    [("exit 9", "ended with 9"), ("echo 'No devices' >&2; exit 6", "No devices"), (None, "not installed")],
)
def test_a_failing_nvidia_smi_is_said_once_and_harms_nothing(
    tmp_path: Path, nvidia_smi: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, body: str | None, words: str
) -> None:
    if body is None:
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    else:
        nvidia_smi(body)
    sampler = _start(tmp_path / "t", "--interval", "0.05")
    _wait_for(1, tmp_path / "t")
    time.sleep(0.3)
    sampler.terminate()
    assert sampler.wait(20) == 0
    errors = [line["error"] for line in _lines(tmp_path / "t") if "error" in line]
    assert len(errors) == 1
    assert words in str(errors[0])


def test_a_second_sampler_of_the_node_does_not_write_into_the_first_ones_file(
    tmp_path: Path, nvidia_smi: Callable[[str], None]
) -> None:
    nvidia_smi(f"printf '%s' '{TWO_GPUS}'")
    first = _start(tmp_path / "t", "--interval", "0.05")
    _wait_for(1, tmp_path / "t")
    second = subprocess.run([sys.executable, str(PROGRAM), str(tmp_path / "t")], capture_output=True, check=False)
    assert second.returncode != 0
    first.terminate()
    assert first.wait(20) == 0
    assert sum("fields" in line for line in _lines(tmp_path / "t")) == 1
