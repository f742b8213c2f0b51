"""A run directory's record and its script's own record decide what the log alone cannot."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from made_run_directories import job, made
from made_runs import TIMES, slime_log

from openrecipes.diagnosis.diagnose import Diagnosis, diagnose
from openrecipes.recipe.read import read_recipe

RECIPES = Path(__file__).parents[2] / "recipes"
PUBLISHED = RECIPES / "qwen3.5-397b-a17b" / "h200" / "attune-tp2-pp4-ep32.yaml"
OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.\n"
NO_END = {"end_unix_s": None, "exit_status": None}


def found(root: Path, *, text: str | None = None, of_job: Any = "ended", **record: Any) -> Diagnosis:
    made(root, of_job=job() if of_job == "ended" else of_job, text=text, **record)
    return diagnose([str(root)])


def verdict(diagnosis: Diagnosis) -> tuple[str, str | None]:
    return diagnosis.outcome, diagnosis.cause.name if diagnosis.cause else None


def test_exit_status_0_with_every_step_is_completed(tmp_path: Path) -> None:
    assert verdict(found(tmp_path / "run")) == ("completed", None)


def test_frightening_lines_after_the_last_step_of_a_completed_run_are_only_told(tmp_path: Path) -> None:
    diagnosis = found(tmp_path / "run", text=slime_log() + OUT_OF_MEMORY)
    assert verdict(diagnosis) == ("completed", None)
    assert [other.name for other in diagnosis.others] == ["cuda_oom"]


def test_an_exit_status_masked_to_0_is_a_failure(tmp_path: Path) -> None:
    text = slime_log(TIMES[:5]) + OUT_OF_MEMORY
    assert verdict(found(tmp_path / "run", text=text)) == ("failed", "cuda_oom")


@pytest.mark.parametrize(("times", "name"), [((), "success_without_step"), (TIMES[:5], "stopped_early")])
def test_success_without_the_steps_is_a_failure(tmp_path: Path, times: tuple[float, ...], name: str) -> None:
    diagnosis = found(tmp_path / "run", text=slime_log(times))
    assert verdict(diagnosis) == ("failed", name)
    assert diagnosis.cause is not None
    assert diagnosis.cause.text == f"exit status 0, with {len(times)} of 14 steps in the log"


def test_an_error_status_without_words_is_a_failure(tmp_path: Path) -> None:
    assert verdict(found(tmp_path / "run", of_job=job(exit_status=9))) == ("failed", "unknown_exit")


def test_an_error_status_after_every_step_has_its_cause_in_the_log(tmp_path: Path) -> None:
    text = slime_log() + "OSError: [Errno 28] No space left on device\n"
    assert verdict(found(tmp_path / "run", text=text, of_job=job(exit_status=1))) == ("failed", "disk_full")


def test_a_run_that_was_told_to_end_is_incomplete(tmp_path: Path) -> None:
    stopped = job(exit_status=143, signal="TERM")
    assert verdict(found(tmp_path / "run", text=slime_log(TIMES[:5]), of_job=stopped)) == ("incomplete", None)


def test_a_script_that_is_gone_without_its_end_has_failed(tmp_path: Path) -> None:
    gone = job(**NO_END).model_copy(update={"host": socket.gethostname(), "pid": 2**22 + 1})
    diagnosis = found(tmp_path / "run", text=slime_log(TIMES[:5]), of_job=gone, outcome="running", log=None)
    assert verdict(diagnosis) == ("failed", "end_not_recorded")


def test_a_script_that_is_there_is_running(tmp_path: Path) -> None:
    alive = job(**NO_END).model_copy(update={"host": socket.gethostname(), "pid": os.getpid()})
    text = slime_log(TIMES[:5])
    assert verdict(found(tmp_path / "run", text=text, of_job=alive, outcome="running", log=None)) == ("running", None)


def test_a_script_on_another_host_is_taken_for_running(tmp_path: Path) -> None:
    diagnosis = found(tmp_path / "run", text="", of_job=job(**NO_END), outcome="running", log=None)
    assert verdict(diagnosis) == ("running", None)


def test_a_run_that_never_started_has_failed_without_a_log(tmp_path: Path) -> None:
    made(tmp_path / "run", of_job=None, outcome="failed", reason="no such partition", log=None)
    (tmp_path / "run" / "log" / "train.log").unlink()
    diagnosis = diagnose([str(tmp_path / "run")])
    assert verdict(diagnosis) == ("failed", "never_started")
    assert diagnosis.cause is not None
    assert diagnosis.cause.text == "no such partition"


def test_random_weights_are_an_error_only_where_the_recipe_does_not_mean_them(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(slime_log().replace("'train/loss': 1.5,", "'train/loss': 12.5,"))
    recipe = read_recipe(PUBLISHED).recipe
    assert verdict(diagnose([str(log)], recipe)) == ("invalid", "random_weights")
    meant = recipe.model_copy(update={"result": recipe.result.model_copy(update={"weights": "random"})})
    assert verdict(diagnose([str(log)], meant)) == ("completed", None)
    said = tmp_path / "said.log"
    said.write_text("  will not load any checkpoints and will start from random\n" + log.read_text())
    assert verdict(diagnose([str(said)], recipe))[0] == "invalid"
    assert verdict(diagnose([str(said)], meant)) == ("completed", None)


def test_the_recipe_says_how_many_steps_a_bare_log_was_to_hold(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(slime_log(TIMES[:5]) + "Job 'raysubmit_A' succeeded\n")
    assert verdict(diagnose([str(log)])) == ("completed", None)
    assert verdict(diagnose([str(log)], read_recipe(PUBLISHED).recipe)) == ("failed", "stopped_early")
