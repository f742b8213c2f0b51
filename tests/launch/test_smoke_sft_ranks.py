"""The smoke trainer as torchrun starts it: real ranks, on a model of a few thousand weights."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from packed_rows import LAUNCH, TINY_MODEL, packed_rows, write_rows

pytestmark = [pytest.mark.tool("module:torch", "module:transformers"), pytest.mark.slow]

LINE = re.compile(
    r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] smoke_sft\.py:\d+ - "
    r"(?P<kind>step|perf|rollout) (?P<number>\d+): (?P<record>\{.*\})$"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("smoke")
    (folder / "config.json").write_text(json.dumps(TINY_MODEL))
    write_rows(folder / "rows.parquet", packed_rows(400, 64, 300))
    return folder


def command(folder: Path, ranks: int, **changes: object) -> list[str]:
    values: dict[str, object] = {"num-rollout": 3, "rollout-batch-size": 4, "global-batch-size": 4, "lr": 1e-3}
    values |= {"hf-checkpoint": folder, "prompt-data": folder / "rows.parquet", "lr-warmup-fraction": 0.1}
    values |= {name.replace("_", "-"): value for name, value in changes.items()}
    flags = ["--calculate-per-token-loss", *(part for name in values for part in (f"--{name}", str(values[name])))]
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks > 1 else []
    return [sys.executable, *torchrun, str(LAUNCH / "smoke_sft.py"), *flags]


def steps(log: str) -> list[dict[str, float]]:
    found = [match for line in log.splitlines() if (match := LINE.match(line))]
    assert {match["kind"] for match in found} == {"step", "perf", "rollout"}
    return [json.loads(match["record"].replace("'", '"')) for match in found if match["kind"] == "step"]


def test_two_ranks_train_as_one_does(folder: Path) -> None:
    logs = []
    for ranks in (2, 1):
        done = subprocess.run(command(folder, ranks), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        logs.append(done.stderr)
    two, one = (steps(log) for log in logs)
    assert [step["train/step"] for step in two] == [0, 1, 2]
    for key in ("train/loss", "train/grad_norm"):
        assert [step[key] for step in two] == pytest.approx([step[key] for step in one], rel=1e-4)
    fingerprints = [re.findall(r"batch \d: .*", log) for log in logs]
    assert fingerprints[0] == fingerprints[1]
    assert len(fingerprints[0]) == 3


def test_a_mistake_is_told_once(folder: Path) -> None:
    done = subprocess.run(command(folder, 2, num_rollout=101), capture_output=True, text=True, check=False)
    errors = [line for line in done.stderr.splitlines() if line.startswith("smoke_sft.py: error: ")]
    assert done.returncode != 0
    assert len(errors) == 1
    assert errors[0].endswith("rows.parquet runs out: it holds 400 rows, for 101 batches of 4")


@contextmanager
def long_run(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """A run that has begun to train, and the process ids of its two ranks."""
    log = folder / "long.log"
    with log.open("wb") as stream:
        flags = {"num_rollout": 200, "rollout_batch_size": 2, "global_batch_size": 2}
        run = subprocess.Popen(command(folder, 2, **flags), stdout=stream, stderr=stream)
    try:
        while " step 1: " not in log.read_text():
            assert run.poll() is None, log.read_text()
            time.sleep(0.05)
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        yield run, [int(pid) for pid in children]
    finally:
        run.kill()
        run.wait()


def alive(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    try:
        return state.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends(pids: list[int]) -> bool:
    deadline = time.monotonic() + 20
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(alive, pids))


@pytest.mark.skipif(sys.platform != "linux", reason="reads process states in /proc")
@pytest.mark.parametrize("how", ["rank killed", "launcher killed", "launcher told to end"])
def test_no_rank_outlives_the_run(folder: Path, how: str) -> None:
    with long_run(folder) as (run, ranks):
        assert len(ranks) == 2, ranks
        target, number = {
            "rank killed": (ranks[1], signal.SIGKILL),
            "launcher killed": (run.pid, signal.SIGKILL),
            "launcher told to end": (run.pid, signal.SIGTERM),
        }[how]
        os.kill(target, number)
        assert run.wait(timeout=60) != 0, (folder / "long.log").read_text()
        assert ends(ranks), (folder / "long.log").read_text()
