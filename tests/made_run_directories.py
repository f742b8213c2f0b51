"""Run directories made up for tests: the log of `made_runs`, a run record and a job record around it."""

import datetime
import json
from pathlib import Path
from typing import Any

from made_runs import START_S, slime_log

from openrecipes.runs.directory import RunDirectory, named_run_directory
from openrecipes.runs.json_files import sha256_of
from openrecipes.runs.record import Job, LaunchedRecipe, RawLog, RowsUsed, RunRecord

HASH = "b" * 64


def job(**changes: Any) -> Job:
    """What the launched script recorded: from a minute before the log to five minutes after."""
    fields = {"start_unix_s": START_S - 60, "end_unix_s": START_S + 300, "exit_status": 0, "signal": None}
    return Job(schema_version=1, host="node", pid=7, **{**fields, **changes})


def made(root: Path, *, of_job: Job | None, text: str | None = None, **changes: Any) -> RunDirectory:
    """A run directory with this log (else 14 steady steps); `changes` are fields of the run record."""
    run = named_run_directory(root)
    run.log.write_text(slime_log() if text is None else text)
    log = RawLog(path="log/train.log", sha256=sha256_of(run.log), size_bytes=run.log.stat().st_size)
    fields: dict[str, Any] = {
        "schema_version": 1,
        "name": root.name,
        "harness_version": "0.1.0",
        "created": datetime.datetime(2026, 9, 21, tzinfo=datetime.UTC),
        "recipe": LaunchedRecipe(file="recipe.yaml", sha256=HASH, launched_sha256=HASH),
        "model": "Qwen3.5-397B-A17B",
        "gpu_type": "H200",
        "gpus": 128,
        "steps_wanted": 14,
        "target": "local",
        "cluster": None,
        "overrides": (),
        "deviations": ("--set layout.tp=2",),
        "rendered": (),
        "render_sha256": HASH,
        "rows": RowsUsed(path="rows", rows=6400, row_tokens=8192, rows_sha256=HASH, parquet_sha256=HASH),
        "outcome": "completed",
        "reason": None,
        "job": of_job,
        "log": log,
        "steps_read": 14,
    }
    run.write_record(RunRecord(**{**fields, **changes}))
    if of_job is not None:
        run.job_file.write_text(json.dumps(of_job.model_dump(mode="json")))
    return run
