"""`openrecipes correctness convergence`: words, exit codes, JSON, plots, and what it writes."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import called
import pytest
from loss_curves import CANDIDATE, FROZEN, NEGATIVE, REFERENCE
from made_run_directories import job, made
from unproved import unproved_copy

from openrecipes.recipe.correctness import Convergence
from openrecipes.recipe.read import read_recipe

ROOT = Path(__file__).parent.parent.parent
TP1, TP2 = (f"tests/data/runs/qwen3.5-moe-small-tp{tp}.log.gz" for tp in (1, 2))
RECIPE = "recipes/qwen3.5-moe-small/h200/openrecipes-tp2-ep2.yaml"


def openrecipes(*words: str) -> called.Called:
    return called.openrecipes("correctness", "convergence", *words)


def slime_log(path: Path, losses: Any) -> str:
    lines = [
        f"(MegatronTrainRayActor pid=7454) [2026-11-30 05:41:{step:02d}] model.py:909 - step {step}: "
        f"{{'train/loss': {loss}, 'train/grad_norm': 1.5, 'train/global_batch_size': 128, 'train/step': {step}}}"
        for step, loss in enumerate(losses)
    ]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_the_real_runs_of_two_layouts_agree() -> None:
    done = openrecipes(TP2, TP1, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    optional = {"frozen_log_sha256", "learning_signal"}
    assert set(Convergence.model_fields) <= set(document)
    assert [key for key in Convergence.model_fields if document[key] is None and key not in optional] == []
    assert (document["steps"], document["points_scored"], document["result"]) == (14, 12, "pass")
    assert document["candidate_log_sha256"] == read_recipe(ROOT / RECIPE).recipe.result.log_sha256
    assert document["not_compared"] == []
    assert len(document["rules"]) == 2


def test_the_test_vector_as_logs_gives_the_published_figures(tmp_path: Path) -> None:
    logs = slime_log(tmp_path / "a.log", CANDIDATE), slime_log(tmp_path / "b.log", REFERENCE)
    document = json.loads(openrecipes(*logs, "--json", "--rule", "function").stdout)
    assert document["correlation"] == 0.9999948453984675
    assert document["final_loss_difference"] == 8.355437665787169e-05
    assert (document["steps"], document["pointwise_failures"], document["result"]) == (20, 0, "pass")
    assert document["not_compared"] == ["target-tokens"]  # the log says nothing of them
    frozen = slime_log(tmp_path / "frozen.log", FROZEN)
    with_frozen = json.loads(openrecipes(*logs, "--frozen", frozen, "--json").stdout)
    assert 0 < with_frozen["learning_signal"] < 0.01
    assert with_frozen["frozen_log_sha256"]


@pytest.mark.parametrize("name", ["all NaN", "shifted by one step", "4.5 % higher"])
def test_a_negative_curve_ends_with_status_1(name: str, tmp_path: Path) -> None:
    logs = slime_log(tmp_path / "a.log", NEGATIVE[name]), slime_log(tmp_path / "b.log", REFERENCE)
    done = openrecipes(*logs)
    assert done.returncode == 1
    assert done.stdout.startswith("convergence: fail\n")
    assert "FAILS" in done.stdout


def test_the_page_shows_both_threshold_sets_every_check_and_the_curves() -> None:
    lines = openrecipes(TP2, TP1).stdout.splitlines()
    assert lines[0] == "convergence: pass"
    (pipeline,) = (at for at, line in enumerate(lines) if line.startswith("megatron-bridge/pipeline"))
    assert lines[pipeline + 1] == "  ok (decides)"
    assert lines[pipeline + 2].startswith("megatron-bridge/function")
    assert "loss   o candidate   x reference   * both" in lines


def test_another_schedule_is_refused_on_stderr_and_in_the_document() -> None:
    logs = (f"tests/data/logs/h200/ok-dense-tp2sp{tail}.log.gz" for tail in ("-4steps-coldstart", ""))
    done = openrecipes(*logs, "--json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert (document["refused"], document["result"]) == (True, "fail")
    assert [problem["rule"] for problem in document["problems"]] == ["convergence-schedule"]
    assert "a run of 4 steps against one of 14" in done.stderr


def test_a_refusal_is_not_written_into_a_recipe(tmp_path: Path) -> None:
    recipe = unproved_copy(ROOT / RECIPE, tmp_path / "recipe.yaml")
    before = recipe.read_text()
    (tmp_path / "empty.log").write_text("nothing here\n")
    for logs in ((TP2, str(tmp_path / "empty.log")), (str(tmp_path / "empty.log"), TP1)):
        done = openrecipes(*logs, "--write", str(recipe), "--force", "--json")
        assert done.returncode == 1
        assert "convergence-no-losses" in done.stderr
        assert recipe.read_text() == before


def test_write_touches_the_correctness_block_alone_and_once(tmp_path: Path) -> None:
    published = (ROOT / RECIPE).read_text()
    start, end = published.index("\ncorrectness:"), published.index("\nenv:")
    before = f"{published[:start]}\ncorrectness: null{published[end:]}"
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(before)
    plot = tmp_path / "curves.svg"
    done = openrecipes(TP2, TP1, "--write", str(recipe), "--plot", str(plot), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["written"] == {"file": str(recipe), "changed": True}
    assert plot.read_text().startswith("<svg")
    after = recipe.read_text()
    assert after[: after.index("\ncorrectness:")] == before[: before.index("\ncorrectness:")]
    assert after[after.index("\nenv:") :] == before[before.index("\nenv:") :]
    block = read_recipe(recipe).recipe.correctness
    assert block is not None
    assert (block.result, block.reference) == ("pass", TP1)
    assert block.convergence is not None
    assert (block.convergence.correlation, block.convergence.strict) == (0.999999, "pass")
    again = openrecipes(TP2, TP1, "--write", str(recipe), "--json")
    assert json.loads(again.stdout)["written"]["changed"] is False


def test_a_log_of_another_recipe_is_written_with_force_only(tmp_path: Path) -> None:
    other = Path(shutil.copy(ROOT / "recipes/qwen3.5-moe-small/h200/openrecipes-tp1-ep2-dp2.yaml", tmp_path / "r.yaml"))
    before = other.read_text()
    done = openrecipes(TP2, TP1, "--write", str(other))
    assert done.returncode == 1
    assert "ran --tensor-model-parallel-size 2" in done.stderr
    assert other.read_text() == before
    assert openrecipes(TP2, TP1, "--write", str(other), "--force").returncode == 0
    assert other.read_text() != before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((TP2, "no-such.log"), "no such file"),
        ((TP2, TP1, "--plot", "curves.gif"), ".svg or .png"),
        ((TP2, TP1, "--rule", "house/1"), "house/1 is no rule for loss curves"),
        ((TP2, TP1, "--write", "no/such/recipe"), "no/such/recipe"),
        ((TP2, "-"), "standard input"),
    ],
)
def test_wrong_usage_ends_with_status_2(words: tuple[str, ...], said: str) -> None:
    done = openrecipes(*words)
    assert done.returncode == 2, done.stderr
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_run_directories_and_directories_of_logs_are_runs_too(tmp_path: Path) -> None:
    runs = []
    for tp in (2, 1):
        text = gzip.decompress((ROOT / f"tests/data/runs/qwen3.5-moe-small-tp{tp}.log.gz").read_bytes()).decode()
        runs.append(made(tmp_path / f"run-{tp}", of_job=job(), text=text).root)
    (tmp_path / "logs").mkdir()
    shutil.copy(ROOT / TP1, tmp_path / "logs" / "node0.log.gz")
    for reference in (str(runs[1]), str(tmp_path / "logs")):
        document = json.loads(openrecipes(str(runs[0]), reference, "--json").stdout)
        assert (document["result"], document["points_scored"]) == ("pass", 12)
