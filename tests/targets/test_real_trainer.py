"""The real smoke trainer through the real launch path: to its end, and with a rank killed on the way."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from smoke_recipe import write_smoke_recipe

from openrecipes.recipe.read import read_recipe
from openrecipes.runs.directory import open_run_directory
from openrecipes.stack.captured import Captured
from openrecipes.targets.own_processes import own_processes

pytestmark = [pytest.mark.slow, pytest.mark.tool("module:torch", "module:transformers")]
FOUR_STEPS = {"result": {"steps_per_run": 4, "window": [1, 3], "window_tokens": 768}}


def started(folder: Path) -> subprocess.Popen[str]:
    recipe = write_smoke_recipe(folder, env={"OMP_NUM_THREADS": "1", "ODD": "a 'b' $c"}, **FOUR_STEPS)
    command = [sys.executable, "-m", "openrecipes", "run", str(recipe), "--run-dir", "run", "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)


def test_a_run_from_conversations_to_a_recipe_with_its_result(tmp_path: Path) -> None:
    process = started(tmp_path)
    out, err = process.communicate(timeout=150)
    assert process.returncode == 0, err
    result = json.loads(out)["result"]
    run = open_run_directory(tmp_path / "run")
    steps = json.loads(run.steps.read_text())["steps"]
    assert [step["step"] for step in steps] == [0, 1, 2, 3]
    assert result["weights"] == "random"
    assert read_recipe(run.recipe_with_result).recipe.result.window == (1, 3)
    found = Captured.model_validate_json(run.environment.read_bytes())
    assert found.version("torch") is not None
    assert found.variables["ODD"] == "a 'b' $c"


def test_a_killed_rank_fails_the_run_and_leaves_no_process(tmp_path: Path) -> None:
    process = started(tmp_path)
    log, rank = tmp_path / "run" / "log" / "train.log", None
    end = time.monotonic() + 150
    while rank is None:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)
        if log.exists() and "step 0:" in log.read_text():
            rank = next((pid for pid in own_processes(log.parent.parent) if _is_rank_1(pid)), None)
    os.kill(rank, signal.SIGKILL)
    out, _ = process.communicate(timeout=100)
    run = open_run_directory(tmp_path / "run")
    assert process.returncode == 1
    assert json.loads(out)["outcome"] == run.record().outcome == "failed"
    assert run.record().reason.startswith("exit status 1, with ")
    assert run.record().job.has_ended
    assert not run.result.exists()
    assert not run.recipe_with_result.exists()
    assert own_processes(run.root) == ()


def _is_rank_1(pid: int) -> bool:
    try:
        return b"\0RANK=1\0" in b"\0" + Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
