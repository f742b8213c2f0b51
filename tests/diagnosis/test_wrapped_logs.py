"""A failure is found under whatever stands between the trainer and the log that a person has."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_wrappings import WRAPPINGS, folded, noise

from openrecipes.diagnosis.diagnose import diagnose
from openrecipes.diagnosis.findings import Finding, SignScanner

MADE = Path(__file__).parents[1] / "data" / "diagnosis" / "runs"
OUT_OF_MEMORY = (MADE / "out-of-memory-then-success-claimed.log").read_bytes()
FAILURES = {
    b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 21.41 GiB. GPU 3 has 17.02 GiB free": "cuda_oom",
    b"AssertionError: world size (120) is not divisible by total_model_size (total_model_size=16)": "divisibility",
    b"RuntimeError: CUDA error: an illegal memory access was encountered": "cuda_illegal_access",
    b"node-a:486514:486651 [1] include/socket.h:403 NCCL WARN Connect to 10.0.0.1<5> failed": "nccl_system_error",
    b"slurmstepd: error: *** STEP 77.0 ON node-a CANCELLED AT 2026-10-11 DUE TO TIME LIMIT": "slurm_time_limit",
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_a_failure_is_found_under_any_prefix(tmp_path: Path, wrapping: str) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(b"\n".join(WRAPPINGS[wrapping](OUT_OF_MEMORY.splitlines())) + b"\n")
    found = diagnose([str(path)])
    assert found.cause is not None
    assert found.cause.name == "cuda_oom"


@pytest.mark.parametrize("width", [60, 80, 97, 120])
@pytest.mark.parametrize(("line", "name"), FAILURES.items())
def test_a_failure_is_found_where_a_terminal_wrapped_the_log(
    tmp_path: Path, line: bytes, name: str, width: int
) -> None:
    around = (
        b"(MegatronTrainRayActor pid=7) microbatch done, all is well so far, nothing to report here yet, go on " * 2
    )
    for before in range(0, width, 7):
        path = tmp_path / f"{before}.log"
        path.write_bytes(folded(b"\n".join((around, b"." * before + b" " + line, around)), width) + b"\n")
        cause = diagnose([str(path)]).cause
        assert cause is not None, before
        assert cause.name == name, before


def _found(data: bytes, cuts: list[int]) -> list[Finding]:
    scanner = SignScanner(file="train.log")
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in pairwise(edges):
        scanner.feed(data[start:end])
    scanner.close()
    return scanner.findings


@given(st.lists(st.integers(0, 10**6), max_size=12))
def test_a_log_read_in_pieces_shows_what_it_shows_read_at_once(cuts: list[int]) -> None:
    data = OUT_OF_MEMORY.replace(b"\n", b"\r\n") + OUT_OF_MEMORY
    assert _found(data, cuts) == _found(data, [])
    assert len(_found(data, [])) > 1


@settings(max_examples=40)
@given(noise, noise)
def test_noise_around_a_failure_changes_nothing_but_its_line(before: list[bytes], after: list[bytes]) -> None:
    line = next(iter(FAILURES))
    found = _found(b"\n".join([*before, line, *after, b""]), [])
    assert [finding.name for finding in found] == ["cuda_oom"]
    assert found[0].line == len(before) + 1


def test_an_endless_line_is_searched_in_bounded_pieces() -> None:
    scanner = SignScanner(file="train.log")
    for _ in range(64):
        scanner.feed(b"y" * 65536)
    scanner.feed(b" RuntimeError: CUDA error: an illegal memory access was encountered ")
    for _ in range(8):
        scanner.feed(b"z" * 65536)
    scanner.close()
    assert [(finding.name, finding.line) for finding in scanner.findings] == [("cuda_illegal_access", 1)]
    assert len(scanner.findings[0].text) <= 500
    assert len(scanner._scanner._data) < 200_000


def test_a_class_that_fills_the_log_is_kept_in_bounded_memory() -> None:
    scanner = SignScanner(file="train.log")
    for _ in range(500):
        scanner.feed(b"RuntimeError: CUDA error: device-side assert triggered\n" * 10)
    assert len(scanner.findings) <= 40
    assert scanner.findings[0].line == 1
