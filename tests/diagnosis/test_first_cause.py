"""Which of many findings is the first cause."""

from itertools import permutations

import pytest

from openrecipes.diagnosis.findings import Finding, SignScanner, computed
from openrecipes.diagnosis.first_cause import fatal, first_cause
from openrecipes.diagnosis.origin import Origin, global_rank, origin
from openrecipes.logs.step import StepRecord


def findings(*lines: str, file: str = "train.log") -> list[Finding]:
    scanner = SignScanner(file=file)
    scanner.feed(("\n".join(lines) + "\n").encode())
    scanner.close()
    return scanner.findings


OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB."
TIMEOUT = "[Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={1}, OpType=ALLREDUCE) ran."
REMOTE = "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."
KILLED = "A worker died or was killed while executing a task by an unexpected system error. Worker PID: 7"
TIME_LIMIT = "slurmstepd: error: *** JOB 7 ON node-a CANCELLED AT 2026-10-11T10:02:00 DUE TO TIME LIMIT ***"


def name_of(found: list[Finding], steps: tuple[StepRecord, ...] = ()) -> str | None:
    cause = first_cause(fatal(found, steps))
    return cause.name if cause else None


@pytest.mark.parametrize("order", list(permutations([OOM, TIMEOUT.format(0, 9), REMOTE, KILLED])))
def test_a_cause_goes_before_what_it_brings_about_in_whatever_order_they_are_printed(order: tuple[str, ...]) -> None:
    assert name_of(findings(*order)) == "cuda_oom"


@pytest.mark.parametrize("order", list(permutations([REMOTE, KILLED, "Job 'raysubmit_A' failed"])))
def test_a_killed_process_goes_before_its_echoes(order: tuple[str, ...]) -> None:
    assert name_of(findings(*order)) == "rank_killed"


def test_of_two_causes_the_earlier_line_counts() -> None:
    ecc = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
    assert name_of(findings(OOM, ecc)) == "cuda_oom"
    assert name_of(findings(ecc, OOM)) == "gpu_ecc"


def test_between_files_the_clock_counts_and_not_their_order() -> None:
    late = findings("[2026-10-11 10:05:00] x", f"[2026-10-11 10:05:00] {OOM}", file="rank0.log")
    early = findings("[2026-10-11 10:04:00] RuntimeError: CUDA error: device-side assert triggered", file="rank7.log")
    for order in ([*late, *early], [*early, *late]):
        cause = first_cause(fatal(order, ()))
        assert cause is not None
        assert (cause.name, cause.origin.rank) == ("device_assert", 7)


def test_an_exception_after_a_process_was_killed_follows_from_it() -> None:
    error = ("Traceback (most recent call last):", "RuntimeError: the group is gone")
    assert name_of(findings(KILLED, *error)) == "rank_killed"
    assert name_of(findings(*error, KILLED)) == "python_exception"


def test_an_exception_counts_only_below_a_traceback() -> None:
    assert name_of(findings("ValueError: shown to a person who asked")) is None
    assert name_of(findings("Traceback (most recent call last):", "ValueError: raised")) == "python_exception"


def test_what_python_ignored_at_its_end_hides_no_exception_after_it() -> None:
    ignored = ("Exception ignored in: <function Closer.__del__>", "Traceback (most recent call last):")
    raised = ("Traceback (most recent call last):", '  File "x.py", line 7, in train', "ValueError: no such row")
    assert name_of(findings(*ignored, "ValueError: no such row")) is None
    assert name_of(findings(*ignored, "ImportError: sys.meta_path is None", "noise", *raised)) == "python_exception"


def test_an_exception_of_a_package_with_a_digit_in_its_name_is_no_host() -> None:
    line = "(RolloutManager pid=7) jinja2.exceptions.UndefinedError: 'list object' has no attribute 'role'"
    assert name_of(findings("Traceback (most recent call last):", line)) == "template_error"


def test_the_line_that_says_where_memory_ran_out_is_the_one() -> None:
    lines = (
        "slurmstepd: error: Detected 1 oom_kill event in StepId=9912.0. Some of the step tasks have been OOM Killed.",
        "srun: error: gpu-17: task 17: Out Of Memory",
    )
    cause = first_cause(fatal(findings(*lines), ()))
    assert cause is not None
    assert (cause.name, cause.origin.rank, cause.origin.node, cause.line) == ("host_oom", 17, "gpu-17", 2)


def test_a_connection_that_fails_is_named_at_its_own_line() -> None:
    warn = "gpu-04:4411:4622 [3] socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.5.9<41234> failed : abort"
    cause = first_cause(fatal(findings(warn, "ncclSystemError: System call or external library call failed."), ()))
    assert cause is not None
    assert (cause.name, cause.origin.node, cause.line) == ("nccl_system_error", "gpu-04", 1)


def test_what_comes_after_a_stop_follows_from_it() -> None:
    assert name_of(findings(TIME_LIMIT, OOM, KILLED, REMOTE)) == "slurm_time_limit"
    assert name_of(findings(OOM, TIME_LIMIT)) == "cuda_oom"
    assert name_of(findings(TIMEOUT.format(3, 9), TIME_LIMIT)) == "nccl_timeout"
    assert name_of(findings("*** SIGTERM received at time=1 on cpu 1 ***", KILLED)) is None


def steps(*lines: int) -> tuple[StepRecord, ...]:
    return tuple(StepRecord(step=number, line=line, file="train.log") for number, line in enumerate(lines))


def test_a_line_that_two_steps_follow_was_survived() -> None:
    found = findings("x", OOM)
    assert name_of(found, steps(1)) == "cuda_oom"
    assert name_of(found, steps(1, 3)) == "cuda_oom"  # one step's record may come late
    assert name_of(found, steps(1, 3, 4)) is None


def test_the_rank_that_hangs_in_an_earlier_collective_is_the_one() -> None:
    ranks = [TIMEOUT.format(rank, 1465 if rank == 5 else 1466) for rank in range(8)]
    cause = first_cause(fatal(findings(*ranks), ()))
    assert cause is not None
    assert (cause.origin.rank, cause.line) == (5, 6)
    level = first_cause(fatal(findings(*(TIMEOUT.format(rank, 9) for rank in range(8))), ()))
    assert level is not None
    assert (level.origin.rank, level.line) == (0, 1)


def test_collectives_of_different_groups_are_not_compared() -> None:
    lines = [f"[PG {group} Rank {rank}] Exception (either an error or timeout) detected by watchdog at work: {work}"
             for group, rank, work in ((0, 0, 90), (0, 1, 90), (1, 2, 3), (1, 3, 3))]  # fmt: skip
    cause = first_cause(fatal(findings(*lines), ()))
    assert cause is not None
    assert cause.line == 1


def test_nothing_is_the_cause_of_nothing() -> None:
    assert first_cause(()) is None
    with pytest.raises(KeyError):
        computed("no_such_class", "")


@pytest.mark.parametrize(
    ("text", "writer", "file", "expected"),
    [
        ("x", "MegatronTrainRayActor pid=4103, ip=10.0.0.3", "a.log", Origin(node="10.0.0.3", pid=4103)),
        ("x", "rank3", "a.log", Origin(rank=3)),
        ("x", "default3", "a.log", Origin()),
        ("x", "17", "a.log", Origin(rank=17)),
        ("[Rank 12] broke", "rank3", "a.log", Origin(rank=12)),
        ("x", "", "logs/rank_007.log", Origin(rank=7)),
        ("x", "", "logs/node-12/rank3.err", Origin(rank=3, node="node-12")),
        ("x", "", "crank12.log", Origin()),
        ("srun: error: gpu-7: task 3: Killed", "", "a.log", Origin(rank=3, node="gpu-7")),
        ("node-a:486514:486651 [1] NCCL WARN x", "", "a.log", Origin(node="node-a", pid=486514)),
        ("Rank 3, node gpu-9, device 3, iteration 7: x", "", "a.log", Origin(rank=3, node="gpu-9")),
        ("ray::T.train() (pid=12, ip=192.0.2.2, actor_id=1)", "", "a.log", Origin(node="192.0.2.2", pid=12)),
        ("local_rank: 5 failed", "", "a.log", Origin()),
    ],
)  # fmt: skip
def test_the_origin_is_read_from_line_prefix_and_file(text: str, writer: str, file: str, expected: Origin) -> None:
    assert origin(text, writer=writer, before="", file=file) == expected


def test_a_place_in_the_layout_is_a_global_rank() -> None:
    layout = {"world_size": "128", "pipeline_model_parallel_size": "4"}
    assert global_rank("1,3", layout) == 97
    assert global_rank("0,0", layout) == 0
    assert global_rank("7", {}) == 7
    assert global_rank("1,3", {"world_size": "128", "pipeline_model_parallel_size": "0"}) is None
    assert global_rank("1,3", {}) is None
