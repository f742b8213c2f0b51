"""`openrecipes diagnose`: words, exit status, JSON, and what no file may break."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from called import Called, openrecipes

from openrecipes.diagnosis.diagnose import diagnose

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "tests" / "data" / "logs"
MADE = ROOT / "tests" / "data" / "diagnosis" / "runs"


def told(*words: str, data: bytes = b"", status: int) -> Called:
    done = openrecipes("diagnose", *words, data=data)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


def document(*words: str, status: int, data: bytes = b"") -> Any:
    return json.loads(told(*words, "--json", data=data, status=status).stdout)


def test_a_failed_run_is_told_with_place_and_remedy_and_exits_1() -> None:
    text = told(str(LOGS / "ray" / "kill.log"), status=1).stdout
    assert text.startswith("failed, 4 steps in the log\nrank_killed: ")
    assert "kill.log:33: A worker died or was killed" in text
    assert "\nmend: look at the kernel log of its node" in text


def test_json_holds_the_documented_keys() -> None:
    found = document(str(LOGS / "excerpts" / "f09-nccl-watchdog-viewer-numbers.log"), status=1)
    assert found["outcome"] == "failed"
    assert {"class", "line", "text", "rank", "node", "remedy"} <= set(found["cause"])
    assert (found["cause"]["class"], found["cause"]["rank"]) == ("nccl_timeout", 3)
    assert {other["class"] for other in found["others"]} == {"nccl_timeout"}


def test_a_healthy_run_exits_0_without_a_cause() -> None:
    found = document(str(LOGS / "h200" / "ok-moe-ep2.log.gz"), status=0)
    assert (found["outcome"], found["cause"], found["steps_read"], found["steps_wanted"]) == ("completed", None, 14, 14)


def test_standard_input_is_read_like_a_file() -> None:
    data = (LOGS / "ray" / "job.log").read_bytes()
    found = document("-", data=data, status=1)
    assert (found["cause"]["class"], found["cause"]["file"], found["files"]) == ("cuda_error", "-", ["-"])


def test_no_finding_names_the_file_that_stands_for_standard_input() -> None:
    looked = 0
    for path in sorted(MADE.glob("*.log")):
        found = json.loads(openrecipes("diagnose", "-", "--json", data=path.read_bytes()).stdout)
        named = {other["file"] for other in [*found["others"], *([found["cause"]] if found["cause"] else [])]}
        assert named <= {"-", ""}, path
        looked += any(other["class"] == "random_weights_suspected" for other in found["others"])
    assert looked


def test_a_file_that_is_no_log_is_told_from_a_run_that_was_stopped() -> None:
    words = "no step record of any known format"
    assert words in told(str(ROOT / "README.md"), status=0).stdout
    begun = b"----- arguments -----\n  world_size .... 8\n  global_batch_size .... 8\n---- end of arguments ----\n"
    assert words not in told("-", data=begun, status=0).stdout


def test_an_invalid_run_exits_1() -> None:
    assert document(str(MADE / "nan-went-on.log"), status=1)["outcome"] == "invalid"


def test_a_recipe_may_be_named_for_a_bare_log() -> None:
    smoke = "qwen3.5-moe-mini/cpu/smoke-dp2"
    log = str(MADE / "random-start-said.log")
    assert document(log, status=1)["outcome"] == "invalid"
    assert document(log, "--recipe", smoke, status=0)["outcome"] == "completed"


def test_a_missing_file_is_wrong_usage() -> None:
    assert "there is no such file" in told("no-such.log", status=2).stderr


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty", b""),
        ("binary", bytes(range(256)) * 400),
        ("blank", b"\n" * 5000),
        ("no end", b"torch.OutOfMem"),
        ("endless", b"x" * 3_000_000),
        ("broken gzip", gzip.compress(b"RuntimeError: CUDA error: device-side assert triggered\n" * 9000)[:300]),
        ("huge step", b"step 1000000000000000000: {'train/loss': 1.0, 'train/grad_norm': 1.0}\n" * 3),
    ],
)
def test_no_file_breaks_it(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(data)
    found = diagnose([str(path)])
    assert found.outcome in ("incomplete", "failed")
    json.dumps(found.document(), allow_nan=False)


def test_an_empty_file_is_said_to_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(b"")
    assert "the file is empty" in told(str(path), status=0).stderr


def test_control_characters_of_a_log_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(b"RuntimeError: CUDA error: device-side assert triggered \x1b]0;title\x07\x1b[2J \x08\n")
    assert "\x1b" not in told(str(path), status=1).stdout
