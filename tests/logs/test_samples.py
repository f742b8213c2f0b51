"""Sample logs read as their `expected.json` says: our own forms, posted excerpts, and those beside a checkout."""

import json
from pathlib import Path
from typing import Any

import pytest

from openrecipes.logs.run_log import RunLog, read_log

ROOT = Path(__file__).parent.parent.parent
FORMS = ROOT / "tests" / "data" / "logs" / "forms"
EXCERPTS = ROOT / "tests" / "data" / "logs" / "excerpts"
BESIDE = ROOT.parent / "shared" / "examples" / "logs"


def _cases(folder: Path) -> dict[str, Any]:
    file = folder / "expected.json"
    return dict(json.loads(file.read_text())) if file.exists() else {}


def test_all_samples_are_here() -> None:
    for folder, count in ((FORMS, 23), (EXCERPTS, 23)):
        assert len(_cases(folder)) == count
        assert sorted(_cases(folder)) == sorted(path.name for path in folder.glob("*.log"))


@pytest.mark.parametrize("name", sorted(_cases(FORMS)))
def test_forms_read_as_expected(name: str) -> None:
    expected = _cases(FORMS)[name]
    log = read_log([FORMS / name])
    assert log.format == expected["format"]
    assert [step.step for step in log.steps] == expected["steps"]
    for key in ("step_time_s", "loss", "grad_norm", "skipped", "interval", "tokens"):
        if key in expected:
            assert _close([getattr(step, key) for step in log.steps], expected[key]), key
    if "global_batch" in expected:
        assert {step.global_batch for step in log.steps} == {expected["global_batch"]}
    if "attempts" in expected:
        assert [len(attempt) for attempt in log.attempts] == expected["attempts"]
    if "rules" in expected:
        assert [problem.rule for problem in log.problems] == expected["rules"]


@pytest.mark.parametrize("name", sorted(_cases(EXCERPTS)))
def test_excerpts_read_as_expected(name: str) -> None:
    _compare(read_log([EXCERPTS / name]), _cases(EXCERPTS)[name])


@pytest.mark.parametrize("name", sorted(_cases(BESIDE)) or ["none"])
def test_excerpts_beside_the_checkout_read_as_expected(name: str) -> None:
    if name == "none":
        pytest.skip("no excerpts beside this checkout")
    _compare(read_log([BESIDE / name]), _cases(BESIDE)[name])


def _compare(log: RunLog, expected: dict[str, Any]) -> None:
    """The log against one entry, whose lists hold a number, null or the text "nan" a step."""
    assert all(problem.severity == "warning" for problem in log.problems if log.steps)
    runs = expected.get("runs", [expected])
    keys = {"steps": "step", "step_time_s": "step_time_s", "loss": "loss", "grad_norm": "grad_norm", "tokens": "tokens"}
    for key, attribute in keys.items():
        if key in runs[0]:
            right = [value for run in runs for value in run[key] or [None] * len(log.steps)]
            assert _close([getattr(step, attribute) for step in log.steps], right), key
    if "runs" in expected:
        assert [len(attempt) for attempt in log.attempts] == [len(run["steps"]) for run in runs]
    if "log_interval" in expected:
        assert {step.interval for step in log.steps} == {expected["log_interval"]}
    if "gap" in expected:
        assert any(expected["gap"] in problem.what for problem in log.problems if problem.rule == "steps-missing")
    batches = {step.global_batch for step in log.steps} - {None}
    if expected.get("gbs") is not None and batches:
        assert batches == {expected["gbs"]}


def _close(read: list[float | None], right: list[float | str | None]) -> bool:
    """Whether the values agree to the four digits that the excerpts' readings have; null and "nan" only as such."""
    if len(read) != len(right):
        return False
    for value, meant in zip(read, right, strict=True):
        if value is None or not isinstance(meant, int | float):
            if str(value) != str(meant):
                return False
        elif abs(value - meant) > 1e-4 * abs(meant) + 1e-12:
            return False
    return True
