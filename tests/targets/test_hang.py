"""Runs that never end by themselves: what ends them, how soon, and what is said of it."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from smoke_recipe import smoke_recipe

from openrecipes.catalog.models import model
from openrecipes.diagnosis.signatures import Kind, recogniser, table
from openrecipes.render.command import command
from openrecipes.runs.outcome import outcome
from openrecipes.targets import node_script
from openrecipes.targets.fatal_signs import sign_files
from openrecipes.targets.own_processes import own_processes
from openrecipes.targets.profile import Profile
from openrecipes.targets.running_settings import Hang
from openrecipes.targets.submit import submit
from openrecipes.targets.target import Launch

SOON = {"first_step_seconds": 60, "at_least_seconds": 60, "after_error_seconds": 60}


@pytest.fixture
def ended(stage, monkeypatch):
    """Runs a trainer that plays, with bounds, to its end; the run and how long it took."""
    monkeypatch.setattr(node_script, "HANG_POLL_S", 1)
    monkeypatch.setattr("openrecipes.targets.local.GRACE_S", 2)

    def run(env, limit_s=None, **bounds):
        recipe = smoke_recipe(env=env)
        found = model(recipe.model)
        profile = Profile(
            schema_version=1,
            name="stage",
            target="local",
            python=str(stage.python),
            hang=Hang(**{**SOON, **bounds}),
            time_limit_seconds=limit_s,
        )
        launch = Launch(recipe=recipe, model=found, command=command(recipe, found), profile=profile)
        rendered, place = stage.placed(launch)
        begin = time.monotonic()
        submit(rendered, place).wait(50)
        return place, time.monotonic() - begin

    return run


def test_no_first_step_in_time_ends_the_run(ended):
    run, _ = ended({"PLAY": "hang"}, first_step_seconds=2)
    job = run.job()
    assert job.cause.startswith("hang, no step for ")
    assert " after step 0 (limit 2 s, median unknown s)" in job.cause
    assert (job.exit_status, job.signal) == (143, None)
    assert own_processes(run.root) == ()
    assert outcome(job, steps_read=0, steps_wanted=14, was_stopped=False)[0] == "failed"


def test_a_step_that_is_many_medians_late_ends_the_run(ended):
    run, _ = ended({"PLAY": "stall", "STEPS": "3"}, at_least_seconds=2)
    assert " after step 3 (limit 2 s, median " in run.job().cause
    assert outcome(run.job(), steps_read=3, steps_wanted=14, was_stopped=False)[0] == "failed"


def test_batches_that_are_ready_before_the_first_step_are_no_steps(ended):
    run, _ = ended({"PLAY": "steps", "FIRST_S": "5"}, at_least_seconds=2)
    assert (run.job().exit_status, run.job().cause) == (0, None)


def test_the_time_limit_ends_a_run_that_no_scheduler_ends(ended):
    run, took = ended({"PLAY": "steps", "STEP_S": "3"}, limit_s=4)
    job = run.job()
    assert took < 30
    assert (job.cause, job.exit_status) == ("time limit of 4 s", 143)
    assert "step 0:" in run.log.read_text()


@pytest.mark.parametrize(
    "says",
    [
        "AssertionError: args.load='x' does not exist or is an empty directory. Did you specify the wrong folder?",
        "(MegatronTrainRayActor pid=7, ip=10.0.0.1) torch.OutOfMemoryError: CUDA out of memory. Tried",
        "somebodys.own.StrangeError: made up",
    ],
)
def test_a_trainer_that_raised_and_never_ends_is_ended_long_before_the_first_step_is_due(ended, says):
    run, took = ended({"PLAY": "raise-stall", "STEPS": "0", "SAYS": says}, after_error_seconds=2)
    job = run.job()
    assert took < 40
    assert "s after an error, and the trainer has not ended: " in job.cause
    assert says.rpartition(") ")[2].rstrip("?") in job.cause
    assert own_processes(run.root) == ()


def test_a_trainer_that_goes_on_after_an_error_is_left_alone(ended):
    run, _ = ended({"PLAY": "raise", "STEP_S": "0.5"}, after_error_seconds=3)
    assert (run.job().exit_status, run.job().cause) == (0, None)
    assert "step 13:" in run.log.read_text()


def grep(name: str, *lines: str) -> set[str]:
    """Those of the lines in which the expressions of a file are found."""
    text = {file.path: file.text for file in sign_files()}[name]
    done = subprocess.run(
        ["grep", "-aP", text.rstrip("\n")],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        check=False,
        env={"LC_ALL": "C"},
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr
    return set(done.stdout.split("\n")) - {""}


def test_the_expressions_say_what_the_table_says():
    """Held against every literal of the table, with what its sign asks besides."""
    lines = ["all is well", "First rollout sample: CUDA out of memory", "MemoryError: x", "Killed", "exit code 0"]
    for entry in table().classes:
        for sign in entry.signs:
            lines += [" ".join((sign.text, one)) for one in sign.one_of] or [sign.text]
    fatal = {Kind.CAUSE, Kind.EXCEPTION, Kind.SYMPTOM, Kind.ECHO, Kind.END}
    found = {name: grep(name, *lines) for name in ("signs/raised.pcre", "signs/fatal.pcre")}
    differ = []
    for line in dict.fromkeys(lines):
        seen = recogniser()(line)
        signature = seen.signature if seen else None
        is_fatal = signature is not None and signature.kind in fatal
        file = "signs/raised.pcre" if signature and signature.after_traceback_only else "signs/fatal.pcre"
        if is_fatal != (line in found[file]):
            differ.append((line, signature and signature.name))
    assert len(lines) > 200
    assert differ == []


def test_every_stem_is_a_line_and_a_healthy_log_holds_no_sign(stage):
    stems = sign_files()[0].text
    assert stems.splitlines() == list(table().stems)
    healthy = json.dumps({"train/loss": 1.5})
    assert not grep("signs/fatal.pcre", f"[2026-11-30 10:00:00] model.py:9 - step 3: {healthy}")


REAL = sorted((Path(__file__).resolve().parent.parent / "data" / "logs" / "h200").glob("*.log.gz"))


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name.partition(".")[0])
def test_a_real_log_holds_a_sign_where_its_run_failed_and_none_where_it_was_well(path, tmp_path):
    for file in sign_files():
        (tmp_path / file.path).parent.mkdir(exist_ok=True)
        (tmp_path / file.path).write_text(file.text)
    look = 'zcat -- "$1" | grep -aF -f signs/stems.txt | grep -acP -f signs/fatal.pcre'
    found = subprocess.run(
        ["bash", "-c", look, "look", str(path)],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert (int(found.stdout) > 0) == path.name.startswith("fail-")


def test_there_are_real_logs_of_both_kinds():
    assert {"ok", "fail"} <= {path.name.partition("-")[0] for path in REAL}
