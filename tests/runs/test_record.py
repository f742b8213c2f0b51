import json

import pytest

from openrecipes.problems import UsageError
from openrecipes.runs.directory import named_run_directory, open_run_directory
from openrecipes.runs.json_files import write_json
from openrecipes.runs.record import FileHash, Job, LaunchedRecipe, RunRecord, utc_now

SHA = "0" * 64


def record(**changes: object) -> RunRecord:
    fields = {
        "schema_version": 1,
        "name": "run",
        "harness_version": "0.1.0",
        "created": utc_now(),
        "recipe": LaunchedRecipe(file="r.yaml", sha256=SHA, launched_sha256=SHA),
        "model": "M",
        "gpu_type": "CPU",
        "gpus": 2,
        "steps_wanted": 14,
        "target": "local",
        "cluster": None,
        "overrides": ("arguments.lr=2e-5",),
        "deviations": (),
        "rendered": (FileHash(path="rendered/launch.sh", sha256=SHA),),
        "render_sha256": SHA,
        "rows": None,
        "outcome": "prepared",
        "reason": None,
        "job": None,
        "log": None,
        "steps_read": None,
    }
    return RunRecord.model_validate({**fields, **changes})


def test_a_record_reads_back_equal(tmp_path):
    run = named_run_directory(tmp_path / "run")
    run.write_record(record())
    assert open_run_directory(run.root).record() == record(created=run.record().created)


def test_a_record_is_replaced_whole_and_leaves_no_other_file(tmp_path):
    run = named_run_directory(tmp_path / "run")
    for outcome in ("prepared", "running", "failed"):
        run.write_record(record(outcome=outcome))
    assert run.record().outcome == "failed"
    assert sorted(path.name for path in run.root.iterdir()) == ["log", "run.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document.pop("outcome"), "outcome"),
        (lambda document: document.update(outcome="fine"), "outcome"),
        (lambda document: document.update(more=1), "more"),
        (lambda document: document.update(schema_version=2), "schema_version"),
    ],
)
def test_a_changed_record_is_refused_by_key(tmp_path, change, message):
    run = named_run_directory(tmp_path / "run")
    run.write_record(record())
    document = json.loads(run.record_file.read_text())
    change(document)
    run.record_file.write_text(json.dumps(document))
    with pytest.raises(UsageError) as caught:
        run.record()
    assert caught.value.problems[0].place.key == message


def test_a_record_that_is_no_json_is_refused(tmp_path):
    run = named_run_directory(tmp_path / "run")
    run.record_file.write_bytes(b"\x00{")
    with pytest.raises(UsageError, match="is no run record"):
        run.record()


def test_a_number_that_json_cannot_hold_is_refused_and_the_old_file_stays(tmp_path):
    path = tmp_path / "steps.json"
    write_json(path, [1.0])
    with pytest.raises(ValueError, match="JSON"):
        write_json(path, [float("nan")])
    assert json.loads(path.read_text()) == [1.0]


def test_a_job_without_end_has_not_ended():
    start = {"schema_version": 1, "start_unix_s": 1.5, "signal": None, "host": "n1", "pid": 7}
    assert not Job.model_validate({**start, "end_unix_s": None, "exit_status": None}).has_ended
    assert Job.model_validate({**start, "end_unix_s": 9.5, "exit_status": 0}).has_ended


def test_a_run_without_files_has_no_job_and_no_log(tmp_path):
    run = named_run_directory(tmp_path / "run")
    assert run.job() is None
    assert run.raw_log() is None
    run.log.write_bytes(b"")
    log = run.raw_log()
    assert (log.path, log.size_bytes) == ("log/train.log", 0)
