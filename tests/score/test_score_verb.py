"""`openrecipes score`: its words, exit codes, JSON, and what it writes."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from called import openrecipes
from made_runs import TIMES, slime_log

from openrecipes.recipe.read import read_recipe
from openrecipes.recipe.result import Result

ROOT = Path(__file__).parent.parent.parent
SHIPPED = ROOT / "recipes/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32.yaml"
H200 = ROOT / "tests/data/logs/h200"


def document(*words: str, status: int = 0) -> Any:
    done = openrecipes("score", *words, "--json")
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    return Path(shutil.copy(SHIPPED, tmp_path / "recipe.yaml"))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_text(slime_log())
    return path


def test_a_recipes_log_is_scored_written_and_written_once(recipe: Path, log: Path) -> None:
    score = document(str(recipe), str(log), "--write")
    assert set(Result.model_fields) <= set(score)
    assert score["tokens_per_s_per_gpu"] == pytest.approx(10_485_760 / sum(TIMES[4:]) / 128, rel=1e-12)
    assert score["active_params"]["count"] == 16_331_407_360
    assert score["problems"] == []
    assert score["written"] == {"file": str(recipe), "changed": True}
    stored = read_recipe(recipe).recipe.result
    assert stored.tokens_per_s_per_gpu == round(score["tokens_per_s_per_gpu"], 2)
    assert stored.log_sha256 == score["log_sha256"]
    assert stored.gpu_hours == 68.9  # a bare log knows none, and erases none
    assert document(str(recipe), str(log), "--write")["written"]["changed"] is False
    before, after = SHIPPED.read_text(), recipe.read_text()
    assert after[: after.index("\nresult:")] == before[: before.index("\nresult:")]
    assert after[after.index("\ncorrectness:") :] == before[before.index("\ncorrectness:") :]


def test_a_refused_score_exits_1_prints_why_and_writes_nothing(recipe: Path, log: Path) -> None:
    log.write_text(slime_log(TIMES[:10]))
    before = recipe.read_bytes()
    done = openrecipes("score", str(recipe), str(log), "--write", "--json")
    score = json.loads(done.stdout)
    assert done.returncode == 1
    assert score["tokens_per_s_per_gpu"] is None
    assert [problem["rule"] for problem in score["problems"]] == ["steps-short"]
    assert "[steps-short]" in done.stderr
    assert recipe.read_bytes() == before


def test_an_unsteady_run_is_scored_only_where_that_is_allowed(recipe: Path, log: Path) -> None:
    log.write_text(slime_log([*TIMES[:9], 23.0, *TIMES[10:]]))
    assert document(str(recipe), str(log), status=1)["tokens_per_s_per_gpu"] is None
    score = document(str(recipe), str(log), "--allow-unsteady")
    assert score["unsteady"] is True
    assert {problem["severity"] for problem in score["problems"]} == {"warning"}


def test_a_run_without_a_recipe_is_described_by_options() -> None:
    words = ("--gpus", "2", "--global-batch", "16", "--row-tokens", "8192", str(H200 / "ok-moe-ep2.log.gz"))
    score = document(*words)
    assert score["tokens_per_s_per_gpu"] == 41108.89930906523
    assert (score["mfu"], score["usd_per_million_tokens"]) == (None, None)
    named = document(*words, "--gpu", "H200", "--model", "qwen3.5-moe-mini")
    assert named["mfu"] == pytest.approx(6 * 17_210_112 * score["tokens_per_s_per_gpu"] / 989e12)
    assert named["price"] == "aws-on-demand-us-east-1-2026-09/p5en.48xlarge"


def test_sensitivity_lists_rules_timers_and_prices(recipe: Path, log: Path) -> None:
    variants = document(str(recipe), str(log), "--sensitivity")["sensitivity"]
    assert {variant["timer"] for variant in variants} == {"step_time", "train_time"}
    assert variants[0]["change_percent"] == 0


def test_another_window_is_scored_and_named(recipe: Path, log: Path) -> None:
    assert document(str(recipe), str(log), "--window", "6:13")["rule"] == "window 6:13"
    assert document(str(recipe), str(log), "--rule", "last-30-percent/1")["window"] == [9, 13]


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["LOG"], "score-usage"),
        (["--gpus", "2", "LOG"], "score-usage"),
        (["--gpus", "2", "--global-batch", "16", "--row-tokens", "8192", "--write", "LOG"], "score-usage"),
        (["RECIPE", "LOG", "--rule", "skip"], "rule-known"),
        (["RECIPE", "LOG", "--window", "4..13"], "window-form"),
        (["RECIPE", "LOG", "--price", "free"], "price-known"),
        (["RECIPE", "LOG", "--price", "aws-on-demand-us-east-1-2026-09/p5.48xlarge", "--write"], "score-usage"),
        (["RECIPE", "nowhere.log"], "file-readable"),
        (["RECIPE", "-"], "log-is-a-file"),
        (["nothing/of/that-name", "LOG"], "file-readable"),
        (["--gpus", "2", "--global-batch", "16", "--row-tokens", "8192", "--gpu", "H20", "LOG"], "gpu-known"),
    ],
)
def test_wrong_usage_exits_2_with_its_rule(recipe: Path, log: Path, words: list[str], rule: str) -> None:
    names = {"LOG": str(log), "RECIPE": str(recipe)}
    done = openrecipes("score", *(names.get(word, word) for word in words))
    assert done.returncode == 2
    assert f"[{rule}]" in done.stderr
    assert done.stdout == ""


def test_stronger_evidence_is_written_over_only_by_force(recipe: Path, log: Path) -> None:
    document(str(recipe), str(log), "--write")
    text = recipe.read_text().replace("  runs: 1\n", "  runs: 3\n")
    recipe.write_text(text)
    refused = document(str(recipe), str(log), "--write", status=1)
    assert [problem["rule"] for problem in refused["problems"]] == ["result-stronger"]
    assert recipe.read_text() == text
    assert document(str(recipe), str(log), "--write", "--force")["written"]["changed"] is True


def test_the_scorecard_fits_80_columns_and_leads_with_the_rate(recipe: Path, log: Path) -> None:
    lines = openrecipes("score", str(recipe), str(log), "--sensitivity").stdout.splitlines()
    assert lines[0] == "Qwen3.5-397B-A17B on 128 x H200, TP2 PP4 EP32 DP16"
    assert lines[1] == "steps 4-13 of 14 (skip-quarter/1), timer step_time (wait + train)"
    assert lines[3].startswith("tokens/s per GPU")
    assert "545." in lines[3]
    assert max(map(len, lines)) <= 80
