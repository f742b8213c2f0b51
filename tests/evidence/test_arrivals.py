"""A bundle holds when the log's lines came, and its figures are held against that again."""

from itertools import accumulate
from pathlib import Path

import pytest
from arrivals_of import write_arrivals
from made_bundles import HOST, environment, made_run, members_of, tampered

from openrecipes.evidence.bundle import bundle
from openrecipes.evidence.verify import verify
from openrecipes.logs.run_log import read_log
from openrecipes.problems import ProblemsError
from openrecipes.runs.directory import RunDirectory

MEMBER = "run-1/log/arrivals.jsonl"


def came(run: RunDirectory, factor: float = 1.0) -> None:
    """Writes when the lines came: the steps' where they say that they ended, `factor` times as late."""
    ends = [0.0] * (run.log.read_bytes().count(b"\n") + 1)
    for step in read_log([run.log]).steps:
        ends[step.timed_line or step.line] = step.step_time_s or 0.0
    times = [factor * end for end in accumulate(ends)]
    job = run.job()
    assert job is not None
    write_arrivals(run, times[1:], start_unix_s=job.start_unix_s)


def test_it_holds_the_arrivals_and_verifies(tmp_path: Path) -> None:
    run, claim = made_run(tmp_path / "run")
    came(run)
    made = bundle(claim, [run.root], tmp_path / "b.tar.gz")
    assert members_of(made.file)[MEMBER] == run.arrivals.read_bytes()
    found = verify(made.file)
    assert found.ok, found.problems
    assert "arrivals" not in "".join(problem.rule for problem in found.problems)


def test_a_redacted_log_still_fits_them(tmp_path: Path) -> None:
    env = environment(host=HOST, variables={"DATA": "/home/alice/data/rows"})
    said = f"{HOST}:12:34 [0] NCCL INFO at 10.1.2.3 by alice@example.net in /fsx/alice/run/x.py\n"
    key = "-----BEGIN PRIVATE KEY-----\nabc\ndef\n-----END PRIVATE KEY-----\n"
    run, claim = made_run(tmp_path / "run", host=HOST, env=env, more_log=said + key)
    came(run)
    made = bundle(claim, [run.root], tmp_path / "b.tar.gz", redact=True)
    members = members_of(made.file)
    assert members[MEMBER] == run.arrivals.read_bytes()
    assert len(members["run-1/log/train.log"]) != run.log.stat().st_size
    assert members["run-1/log/train.log"].count(b"\n") == run.log.read_bytes().count(b"\n")
    found = verify(made.file)
    assert found.ok, found.problems
    assert "arrivals" not in "".join(problem.rule for problem in found.problems)


def test_step_times_that_the_launch_saw_otherwise_are_not_bundled(tmp_path: Path) -> None:
    run, claim = made_run(tmp_path / "run")
    came(run, factor=2.0)
    with pytest.raises(ProblemsError) as refused:
        bundle(claim, [run.root], tmp_path / "b.tar.gz")
    assert "arrival-contradiction" in {problem.rule for problem in refused.value.problems}


def test_a_bundle_whose_arrivals_are_another_runs_does_not_verify(tmp_path: Path) -> None:
    run, claim = made_run(tmp_path / "run")
    came(run)
    made = bundle(claim, [run.root], tmp_path / "b.tar.gz")
    came(run, factor=2.0)
    found = verify(tampered(made.file, {MEMBER: run.arrivals.read_bytes()}))
    assert not found.ok
    assert "arrival-contradiction" in {problem.rule for problem in found.problems}
