"""What a run left is known by its hash, and by nothing where a record does not say."""

from pathlib import Path

import pytest
from made_run_directories import job, made

from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.left_files import Changes, changes_since, left_files


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    found = made(tmp_path / "run", of_job=job())
    for name in ("environment.json", "preflight/n1.json", "telemetry/n1.jsonl", "telemetry/.n2.part", "steps.json"):
        (found.root / name).parent.mkdir(exist_ok=True)
        (found.root / name).write_text(name)
    (found.root / "telemetry" / "n3.jsonl").symlink_to("/etc/hostname")
    return found


def test_environment_reports_and_samples_are_what_a_run_leaves(run: RunDirectory) -> None:
    assert [file.path for file in left_files(run)] == ["environment.json", "preflight/n1.json", "telemetry/n1.jsonl"]


def test_every_change_is_told_and_none_where_nothing_is_known(run: RunDirectory) -> None:
    before = run.record()
    run.environment.write_text("{}")
    assert changes_since(run, before) == Changes()
    record = before.model_copy(update={"left": left_files(run)})
    assert changes_since(run, record) == Changes()
    run.environment.write_text("other")
    (run.root / "telemetry" / "n1.jsonl").unlink()
    (run.root / "telemetry" / "n9.jsonl").write_text("later")
    (run.root / "steps.json").write_text("made again")
    changed = Changes(altered=("environment.json",), added=("telemetry/n9.jsonl",), missing=("telemetry/n1.jsonl",))
    assert changes_since(run, record) == changed
