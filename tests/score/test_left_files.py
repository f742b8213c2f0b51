"""A run whose environment or telemetry is not what it left has no figure."""

from pathlib import Path

import pytest
from made_run_directories import job, made

from openrecipes.runs.left_files import left_files
from openrecipes.score.expected import Expected
from openrecipes.score.run_evidence import read_run
from openrecipes.score.score import score

EXPECTED = Expected(gpus=128, global_batch=128, row_tokens=8192, steps_per_run=14)


@pytest.mark.parametrize(
    ("change", "rule", "severity"),
    [
        (None, None, None),
        (lambda root: (root / "environment.json").write_text("{}"), "run-changed", "error"),
        (lambda root: (root / "telemetry" / "n2.jsonl").write_text(""), "run-changed", "error"),
        (lambda root: (root / "telemetry" / "n1.jsonl").unlink(), "run-files-gone", "warning"),
    ],
)
def test_what_changed_after_the_run_is_told(tmp_path: Path, change: object, rule: str, severity: str) -> None:
    run = made(tmp_path / "run", of_job=job())
    (run.root / "telemetry").mkdir()
    (run.root / "telemetry" / "n1.jsonl").write_text("sampled")
    run.environment.write_text("captured")
    run.write_record(run.record().model_copy(update={"left": left_files(run)}))
    if callable(change):
        change(run.root)
    card = score(EXPECTED, read_run(str(run.root)))
    found = [(problem.rule, problem.severity) for problem in card.problems]
    assert found == ([(rule, severity)] if rule else [])
    assert card.is_refused == (severity == "error")
