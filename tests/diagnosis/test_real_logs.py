"""Logs of real runs and excerpts that people posted come out as they should."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from openrecipes.diagnosis.diagnose import diagnose

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "tests" / "data" / "logs"
MADE = ROOT / "tests" / "data" / "diagnosis" / "runs"
BESIDE = ROOT.parent / "shared" / "examples"
FOLDERS = (LOGS / "h200", LOGS / "excerpts", BESIDE / "h200", BESIDE / "logs")
MADE_RUNS: dict[str, list[Any]] = yaml.safe_load((MADE / "expected.yaml").read_text())


def _cases() -> list[tuple[Path, dict[str, Any]]]:
    found = []
    for folder in FOLDERS:
        file = folder / "expected.json"
        for name, expected in json.loads(file.read_text()).items() if file.exists() else ():
            path = folder / name
            found.append((path if path.exists() else path.with_name(f"{name}.gz"), expected))
    return found


CASES = _cases()


def test_there_are_real_logs_that_failed_and_some_that_did_not() -> None:
    failures = [expected["failure"] for _, expected in CASES]
    assert len([name for name in failures if name]) >= 18
    assert failures.count(None) >= 15


@pytest.mark.parametrize(
    ("path", "expected"), CASES, ids=[f"{p.parent.parent.name}-{p.parent.name}-{p.name}" for p, _ in CASES]
)
def test_a_real_log_is_diagnosed_as_what_it_is(path: Path, expected: dict[str, Any]) -> None:
    found = diagnose([str(path)])
    if expected["failure"] is None:
        assert found.cause is None
        assert found.outcome in ("completed", "incomplete")
        assert found.outcome == expected.get("outcome", found.outcome)
    else:
        assert found.cause is not None
        assert (found.outcome, found.cause.name) == ("failed", expected["failure"])
        assert found.cause.line is not None
    suspect = expected.get("suspect_rank", expected.get("rank"))
    if suspect is not None:
        assert found.cause is not None
        assert found.cause.origin.rank == suspect


@pytest.mark.parametrize(
    ("name", "outcome", "cause", "line"),
    [
        ("job_ok.log", "invalid", "nan_loss", 55),
        ("plain.log", "invalid", "nan_loss", 24),
        ("inf.log", "invalid", "nan_loss", 23),
        ("job.log", "failed", "cuda_error", 78),
        ("kill.log", "failed", "rank_killed", 33),
    ],
)
def test_real_ray_output_is_diagnosed_as_what_it_is(name: str, outcome: str, cause: str, line: int) -> None:
    found = diagnose([str(LOGS / "ray" / name)])
    assert found.cause is not None
    assert (found.outcome, found.cause.name, found.cause.line) == (outcome, cause, line)


@pytest.mark.parametrize("name", sorted(path.name for path in (LOGS / "forms").glob("*.log")))
def test_no_form_of_a_healthy_log_is_a_failure(name: str) -> None:
    found = diagnose([str(LOGS / "forms" / name)])
    if name == "megatron-all-skipped.log":  # ended by its scheduler
        assert found.cause is not None
        assert found.cause.name == "slurm_time_limit"
    else:
        assert found.outcome in ("completed", "incomplete") or (found.cause and found.cause.kind == "stop")


@pytest.mark.parametrize("name", MADE_RUNS)
def test_a_made_run_comes_out_as_it_should(name: str) -> None:
    found = diagnose([str(MADE / name)])
    cause = found.cause
    got = [cause.name, cause.line, cause.origin.rank, cause.origin.node] if cause else [None] * 4
    assert [found.outcome, *got] == MADE_RUNS[name]


def test_every_made_run_has_an_expectation() -> None:
    assert {path.name for path in MADE.iterdir()} - {"expected.yaml"} == set(MADE_RUNS)


def test_the_killed_rank_is_named_by_its_place_in_the_layout() -> None:
    cause = diagnose([str(LOGS / "h200" / "fail-rank-killed.log.gz")]).cause
    assert cause is not None
    assert (cause.origin.rank, cause.origin.node, cause.origin.pid) == (1, "192.0.2.2", 13954)


def test_another_models_checkpoint_is_named_first_in_the_log_of_a_run_that_had_one() -> None:
    """Real slime on an H200: a recipe of four layers, started from the checkpoint of Qwen3.5-4B."""
    found = diagnose([str(LOGS.parent / "runs" / "failed-other-checkpoint.log.gz")])
    assert found.cause is not None
    assert (found.outcome, found.cause.name) == ("failed", "checkpoint_mismatch")
    assert "linear_attn.dt_bias" in found.cause.text


# Real slime on one H200 through `run --target local`, each run spoilt on purpose (docs/real-run.md).
SPOILT = {
    "bad-row": ("dataset_invalid", "row 5 of ", 1),
    "hang": ("hang", "no step for 55 s", 3),
    "head-lost": ("ray_ended", "Ray ended on the head", 2),
    "nan": ("nan_gradient", "found NaN in local grad norm", 2),
    "oom": ("cuda_oom", "Tried to allocate 60.62 GiB", 0),
    "rank-killed": ("rank_killed", "A worker died or was killed", 2),
    "rows-run-out": ("rows_run_out", "14 batches of 4 rows take 56", 0),
}


@pytest.mark.parametrize("name", SPOILT)
def test_what_was_spoilt_in_a_real_run_is_what_is_named(name: str) -> None:
    found = diagnose([str(LOGS.parent / "runs" / f"failed-{name}.log.gz")])
    assert found.cause is not None
    wanted, words, steps = SPOILT[name]
    assert (found.outcome, found.cause.name, found.steps_done) == ("failed", wanted, steps)
    assert words in found.cause.text
