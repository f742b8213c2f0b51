"""`openrecipes steps` prints what the log says, as one table or one JSON document."""

import json
from pathlib import Path

from log_emitters import EMITTERS
from typer.testing import CliRunner

from openrecipes.cli.steps import app

LOGS = Path(__file__).parent.parent / "data" / "logs"


def _run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.stdout, result.stderr


def test_json_holds_the_steps_and_is_strict() -> None:
    status, out, err = _run(str(LOGS / "ray" / "inf.log"), "--json")
    document = json.loads(out, parse_constant=lambda word: (_ for _ in ()).throw(AssertionError(word)))
    assert (status, err) == (0, "")
    assert list(document) == ["format", "steps", "problems"]
    assert [step["step"] for step in document["steps"]] == [0, 1, 2]
    assert [step["loss"] for step in document["steps"]] == [1.5, 1.4, "nan"]
    wanted = ("step", "step_time_s", "train_time_s", "wait_time_s", "loss", "grad_norm", "lr", "tokens", "line")
    assert all(set(wanted) <= set(step) for step in document["steps"])


def test_the_table_has_a_line_a_step() -> None:
    status, out, _ = _run(str(LOGS / "h200" / "ok-moe-ep2.log.gz"))
    assert status == 0
    assert out.startswith("14 steps, format slime\n")
    assert len(out.splitlines()) == 16


def test_a_log_without_a_step_is_a_failure_with_its_reason() -> None:
    status, out, err = _run(str(LOGS / "h200" / "fail-tp3-world2.log.gz"), "--json")
    assert status == 1
    assert [problem["rule"] for problem in json.loads(out)["problems"]] == ["no-steps"]
    assert "no-steps" in err


def test_a_record_that_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    lines = EMITTERS["slime"].run(3)
    lines[2] = lines[2][:90]
    (tmp_path / "x.log").write_bytes(b"\n".join(lines) + b"\n")
    status, out, err = _run(str(tmp_path / "x.log"), "--json")
    assert status == 1
    assert [step["step"] for step in json.loads(out)["steps"]] == [0, 1, 2]
    assert f"{tmp_path}/x.log:3: a record begins here" in err


def test_a_step_number_beyond_all_runs_leaves_the_other_columns_whole(tmp_path: Path) -> None:
    text = "step 1: {'train/loss': 1.5}\nperf 1: {'perf/step_time': 14.75}\n"
    (tmp_path / "x.log").write_text(text + text.replace(" 1:", " 1000000000000000000:"))
    _, out, _ = _run(str(tmp_path / "x.log"))
    assert "1.00e+18  14.750" in out
    assert _run(str(tmp_path / "x.log"), "--json")[1].count("1000000000000000000") > 0
