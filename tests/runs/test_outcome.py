import pytest

from openrecipes.runs.outcome import outcome
from openrecipes.runs.record import Job


def job(exit_status: int | None = 0, signal: str | None = None) -> Job:
    end = None if exit_status is None else 9.0
    return Job(
        schema_version=1, start_unix_s=1.0, end_unix_s=end, exit_status=exit_status, signal=signal, host="n1", pid=7
    )


@pytest.mark.parametrize(
    ("found", "steps", "was_stopped", "expected", "reason"),
    [
        (job(), 14, False, "completed", None),
        (job(), 13, False, "failed", "exit status 0, but with 13 of 14 steps in the log"),
        (job(), 0, False, "failed", "exit status 0, but with 0 of 14 steps in the log"),
        (job(1), 14, False, "failed", "exit status 1, with 14 of 14 steps in the log"),
        (job(143, "TERM"), 5, True, "interrupted", "stopped by the caller, with 5 of 14 steps in the log"),
        (job(143, "TERM"), 5, False, "interrupted", "stopped by SIGTERM, with 5 of 14 steps in the log"),
        (job(143, "TERM"), 14, False, "interrupted", "stopped by SIGTERM, with 14 of 14 steps in the log"),
        (job(None), 5, True, "interrupted", "stopped by the caller, with 5 of 14 steps in the log"),
        (job(None), 5, False, "failed", "before it could record its end"),
        (None, 0, False, "failed", "recorded no start"),
        (job(), 14, True, "completed", None),
    ],
)
def test_how_a_run_ended(found, steps, was_stopped, expected, reason):
    ended, why = outcome(found, steps_read=steps, steps_wanted=14, was_stopped=was_stopped)
    assert ended == expected
    assert why is None if reason is None else reason in why
