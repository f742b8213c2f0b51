"""A run directory adds to its log what the run record knows: GPU-hours, hashes, how it ended, what it was."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_run_directories import HASH, job, made
from made_runs import EXPECTED, START_S

from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.json_files import sha256_of
from openrecipes.runs.record import Job, RawLog, RowsUsed
from openrecipes.score.expected import Expected
from openrecipes.score.run_evidence import read_run
from openrecipes.score.score import score
from openrecipes.score.scorecard import Scorecard


def card(run: RunDirectory, expected: Expected = EXPECTED) -> Scorecard:
    return score(expected, read_run(str(run.root)))


def test_a_run_directory_gives_gpu_hours_hashes_and_deviations(tmp_path: Path) -> None:
    scored = card(made(tmp_path / "run", of_job=job()))
    assert scored.problems == ()
    assert scored.gpu_hours == 128 * 360 / 3600
    assert scored.render_sha256 == HASH
    assert scored.deviations == ("--set layout.tp=2",)
    assert str(scored.measured) == "2026-09-21"
    assert scored.log_sha256 == sha256_of(tmp_path / "run" / "log" / "train.log")


@pytest.mark.parametrize(
    ("of_job", "changes", "rule"),
    [
        (None, {}, "run-not-ended"),
        (job(end_unix_s=None, exit_status=None), {}, "run-not-ended"),
        (job(exit_status=1), {}, "run-failed"),
        (job(exit_status=143, signal="TERM"), {"outcome": "interrupted", "reason": "stopped"}, "run-failed"),
        (job(), {"outcome": "failed", "reason": "the log holds 13 steps"}, "run-failed"),
        (job(), {"log": RawLog(path="log/train.log", sha256=HASH, size_bytes=1)}, "log-changed"),
        (job(end_unix_s=START_S + 100), {}, "job-clock-contradiction"),
        (job(), {"gpus": 64}, "run-of-another-recipe"),
        (job(), {"steps_wanted": 20}, "run-of-another-recipe"),
        (job(), {"rows": RowsUsed(path="r", rows=1, row_tokens=4096, rows_sha256=HASH, parquet_sha256=HASH)},
         "run-of-another-recipe"),
    ],
)  # fmt: skip
def test_a_run_that_cannot_be_scored_says_why(
    tmp_path: Path, of_job: Job | None, changes: dict[str, Any], rule: str
) -> None:
    scored = card(made(tmp_path / "run", of_job=of_job, **changes))
    assert {problem.rule for problem in scored.errors} == {rule}
    assert scored.figures is None


def test_rows_of_another_hash_are_another_recipes(tmp_path: Path) -> None:
    run = made(tmp_path / "run", of_job=job())
    assert card(run, replace(EXPECTED, rows_sha256=HASH, model="Qwen3.5-397B-A17B", gpu_type="H200")).problems == ()
    scored = card(run, replace(EXPECTED, rows_sha256="c" * 64, model="Other", gpu_type="H100"))
    assert {problem.place.key for problem in scored.errors} == {"workload.dataset.rows_sha256", "model", "gpu.type"}
