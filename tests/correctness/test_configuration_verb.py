"""`openrecipes correctness configuration`: words, exit codes, JSON, and what it writes."""

import gzip
import json
import shutil
from pathlib import Path

import called
import pytest
from made_run_directories import job, made
from unproved import unproved_copy

from openrecipes.recipe.read import read_recipe

ROOT = Path(__file__).parent.parent.parent
TP2, TP1 = "qwen3.5-moe-small/h200/openrecipes-tp2-ep2", "qwen3.5-moe-small/h200/openrecipes-tp1-ep2-dp2"
LOG2, LOG1 = (f"tests/data/runs/qwen3.5-moe-small-tp{tp}.log.gz" for tp in (2, 1))
FAST = "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"
REFERENCE = "qwen3.5-397b-a17b/h200/attune-tp1-pp4-ep32"


def openrecipes(*words: str) -> called.Called:
    return called.openrecipes("correctness", "configuration", *words)


def test_json_has_a_verdict_and_a_reason_for_every_argument() -> None:
    done = openrecipes(TP2, TP1, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["result"] == "pass"
    assert len(document["arguments"]) > 850
    for item in document["arguments"]:
        assert item["class"] in ("equal", "neutral", "tolerated", "workload", "forbidden", "unknown")
        assert item["verdict"] in ("pass", "fail")
        assert item["why"]
    assert {rule["result"] for rule in document["rules"]} == {"pass"}
    assert document["needs_convergence"] is False


def test_logs_are_judged_by_what_they_printed() -> None:
    done = openrecipes(TP2, TP1, "--candidate-log", LOG2, "--reference-log", LOG1)
    assert done.returncode == 0, done.stderr
    assert f"arguments from {LOG2}" in done.stdout
    assert "--prompt-data" in done.stdout


def test_a_failing_comparison_ends_with_status_1_and_says_what_to_show() -> None:
    done = openrecipes(FAST, REFERENCE)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "configuration: fail"
    assert any(line.startswith("--num-rollout") and "FAILS" in line for line in lines)
    assert any(line.startswith("rule schedule FAILS: train_iters 14 against 20") for line in lines)
    assert "  openrecipes correctness convergence CANDIDATE_LOG REFERENCE_LOG" in lines
    command = "  openrecipes correctness component moe-permute-fusion \\"
    assert lines[lines.index(command) + 1] == f"    --recipe {FAST}"


def test_all_shows_what_is_equal_too() -> None:
    assert len(openrecipes(TP2, TP1, "--all").stdout.splitlines()) > 850
    assert len(openrecipes(TP2, TP1).stdout.splitlines()) < 15
    assert "nothing differs" in openrecipes(TP2, TP2).stdout


def test_write_touches_the_correctness_block_alone_and_once(tmp_path: Path) -> None:
    recipe = unproved_copy(ROOT / f"recipes/{TP2}.yaml", tmp_path / "recipe.yaml")
    before = recipe.read_text()
    words = (str(recipe), TP1, "--candidate-log", LOG2, "--reference-log", LOG1, "--write", "--json")
    assert json.loads(openrecipes(*words).stdout)["written"] == {"file": str(recipe), "changed": True}
    after = recipe.read_text()
    assert after[: after.index("\ncorrectness:")] == before[: before.index("\ncorrectness:")]
    assert after[after.index("\nenv:") :] == before[before.index("\nenv:") :]
    block = read_recipe(recipe).recipe.correctness
    assert block is not None
    assert (block.result, block.configuration, block.summary) == ("pass", "pass", "passed: configuration")
    assert block.configuration_evidence is not None
    assert block.configuration_evidence.reference == f"{TP1}, by the log {LOG1}"
    assert json.loads(openrecipes(*words).stdout)["written"]["changed"] is False


def test_a_log_of_another_recipe_is_told_and_not_written(tmp_path: Path) -> None:
    recipe = unproved_copy(ROOT / f"recipes/{TP2}.yaml", tmp_path / "recipe.yaml")
    before = recipe.read_text()
    words = (str(recipe), TP1, "--candidate-log", LOG1, "--reference-log", LOG1)
    told = json.loads(openrecipes(*words, "--json").stdout)
    assert any("ran --tensor-model-parallel-size 1" in problem["what"] for problem in told["problems"])
    done = openrecipes(*words, "--write")
    assert done.returncode == 1
    assert "correctness-other-run" in done.stderr
    assert recipe.read_text() == before


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ((TP2, "no/such/recipe"), 2, "no/such/recipe"),
        ((TP2, TP1, "--candidate-log", "no-such.log"), 2, "no such file"),
        ((LOG2, TP1, "--candidate-log", LOG1), 2, "is a log itself"),
        ((TP2, LOG1, "--write"), 1, "no evidence for a recipe"),
        (("qwen3.5-moe-mini/cpu/smoke-dp2", TP1), 1, "arguments have no classes"),
        ((TP2, TP1, "--candidate-log", "tests/data/logs/ray/plain.log"), 1, "no argument dump"),
    ],
)
def test_what_cannot_be_compared_is_refused(words: tuple[str, ...], status: int, said: str) -> None:
    done = openrecipes(*words)
    assert done.returncode == status, done.stderr
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_logs_alone_are_compared_by_their_arguments_and_say_what_they_do_not_tell() -> None:
    document = json.loads(openrecipes(LOG2, LOG1, "--json").stdout)
    assert document["result"] == "pass"
    assert "environment" in document["not_compared"]
    assert {item["kind"] for item in document["arguments"]} == {"argument"}
    assert "Not compared, since a log alone does not tell: environment, rows" in openrecipes(TP2, LOG1).stdout
    custom = "tests/data/logs/h200/ok-q35-tp2sp-ep2.log.gz"
    done = openrecipes(custom, custom)
    assert done.returncode == 1
    assert "--custom-megatron-init-path  forbidden" in done.stdout
    assert "MEMHOOK_OUT" in done.stdout


def test_a_run_directory_stands_for_its_recipe_and_its_log(tmp_path: Path) -> None:
    text = gzip.decompress((ROOT / LOG2).read_bytes()).decode()
    run = made(tmp_path / "run", of_job=job(), text=text)
    shutil.copy(ROOT / f"recipes/{TP2}.yaml", run.recipe)
    document = json.loads(openrecipes(str(run.root), TP2, "--json").stdout)
    assert document["result"] == "pass"
    assert document["candidate"]["arguments_from"] == str(run.log)
    assert "--attention-backend" in {item["name"] for item in document["arguments"] if item["class"] == "tolerated"}
