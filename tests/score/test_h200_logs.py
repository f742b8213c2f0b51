"""Real logs of slime runs on H200s score as expected, or are refused for what they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from openrecipes.figures.window import RULES
from openrecipes.problems import UsageError
from openrecipes.recipe.read import read_recipe
from openrecipes.score.expected import expected_by_hand, expected_of
from openrecipes.score.run_evidence import read_run
from openrecipes.score.score import score
from openrecipes.score.sensitivity import sensitivity
from openrecipes.score.several_runs import score_runs

ROOT = Path(__file__).parent.parent.parent
H200 = ROOT / "tests" / "data" / "logs" / "h200"
EXPECTED: dict[str, Any] = json.loads((H200 / "expected.json").read_text())
SCORED = sorted(name for name, entry in EXPECTED.items() if "score_2gpu_gb16_row8192" in entry)
TWO_GPUS = expected_by_hand(gpus=2, global_batch=16, row_tokens=8192)
STEADY = {"ok-moe-ep2.log"}


def log(name: str) -> str:
    return str(H200 / f"{name}.gz")


def test_there_are_logs_to_score() -> None:
    assert len(SCORED) == 3


@pytest.mark.parametrize("name", SCORED)
def test_a_real_log_scores_as_expected(name: str) -> None:
    document = score(TWO_GPUS, read_run(log(name)), allow_unsteady=True).document()
    for key, value in EXPECTED[name]["score_2gpu_gb16_row8192"].items():
        assert document[key] == value
    assert document["rule"] == "skip-quarter/1"
    assert document["timer"] == "step_time"
    assert document["steps_read"] == document["steps_per_run"] == 14
    assert document["unsteady"] is (name not in STEADY)
    assert document["profiler"] is False
    assert document["measured"] == "2026-11-30"
    assert document["gpu_hours"] is None
    assert document["gpu_hours_note"] == "no job start and end: scored from a bare log"
    low, high = document["confidence_interval"]
    assert low < document["tokens_per_s_per_gpu"] < high


@pytest.mark.parametrize("name", SCORED)
def test_an_unsteady_log_is_refused_unless_allowed(name: str) -> None:
    card = score(TWO_GPUS, read_run(log(name)))
    assert card.is_refused is (name not in STEADY)
    assert all(problem.rule.startswith("unsteady-") for problem in card.problems)


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - set(SCORED)))
def test_a_failed_or_short_log_has_no_figure(name: str) -> None:
    card = score(TWO_GPUS, read_run(log(name)), allow_unsteady=True)
    if name == "ok-dense-tp2sp-4steps-coldstart.log":
        assert card.figures is not None  # a whole run of four steps, three of them scored
        assert card.document()["window"] == [1, 3]
        return
    rules = {problem.rule for problem in card.errors}
    assert rules & {"no-steps", "steps-short"}
    assert card.figures is None


@pytest.mark.parametrize("recipe", ["attune-tp2-pp4-ep32", "attune-tp1-pp4-ep32", "attune-tp2-pp2-ep64"])
@pytest.mark.parametrize("name", SCORED)
def test_no_real_log_passes_for_a_published_recipes(recipe: str, name: str) -> None:
    expected = expected_of(read_recipe(ROOT / f"recipes/qwen3.5-397b-a17b/h200/{recipe}.yaml").recipe)
    card = score(expected, read_run(log(name)), allow_unsteady=True)
    keys = {problem.place.key for problem in card.errors if problem.rule == "log-of-another-recipe"}
    assert {"world_size", "global_batch_size", "num_layers", "hidden_size", "pipeline_model_parallel_size"} <= keys
    assert card.figures is None


@pytest.mark.parametrize(
    ("stated", "key"), [({"gpus": 4, "global_batch": 16}, "world_size"), ({"gpus": 2, "global_batch": 32}, None)]
)
def test_what_is_stated_by_hand_must_agree_with_the_dump(stated: dict[str, int], key: str | None) -> None:
    card = score(expected_by_hand(**stated, row_tokens=8192), read_run(log("ok-moe-ep2.log")))
    assert (key or "global_batch_size") in {problem.place.key for problem in card.errors}


def test_rows_of_another_length_than_stated_are_refused() -> None:
    card = score(expected_by_hand(gpus=2, global_batch=16, row_tokens=4096), read_run(log("ok-moe-ep2.log")))
    assert {problem.rule for problem in card.errors} == {"tokens-per-step"}


def test_packed_and_plain_logs_have_one_hash(tmp_path: Path) -> None:
    import gzip

    plain = tmp_path / "train.log"
    plain.write_bytes(gzip.decompress(Path(log("ok-moe-ep2.log")).read_bytes()))
    assert read_run(str(plain)).log_sha256 == read_run(log("ok-moe-ep2.log")).log_sha256


def test_several_logs_of_one_kind_are_one_result() -> None:
    one, other = read_run(log("ok-dense-tp2sp.log")), read_run(log("fail-rank-killed.log"))
    card = score_runs(TWO_GPUS, [one, other], allow_unsteady=True)
    assert card.figures is not None
    assert [attempt.refused for attempt in card.attempts] == [(), ("steps-short",)]
    assert (
        card.document()["tokens_per_s_per_gpu"]
        == score(TWO_GPUS, one, allow_unsteady=True).document()["tokens_per_s_per_gpu"]
    )


def test_logs_of_different_kinds_are_no_runs_of_one_recipe() -> None:
    runs = [read_run(log(name)) for name in SCORED]
    card = score_runs(TWO_GPUS, runs, allow_unsteady=True)
    assert card.figures is None
    assert {problem.rule for problem in card.errors} == {"runs-differ"}


def test_sensitivity_shows_the_same_log_under_every_rule_and_timer() -> None:
    run = read_run(log("ok-moe-ep2.log"))
    card = score(TWO_GPUS, run)
    variants = sensitivity(TWO_GPUS, [run], card)
    assert {variant.rule for variant in variants} == set(RULES)
    assert len(variants) == 2 * len(RULES)
    assert card.figures is not None
    assert variants[0].tokens_per_s_per_gpu == card.figures.tokens_per_s_per_gpu
    by_name = {(variant.rule, variant.timer): variant for variant in variants}
    assert by_name["skip-quarter/1", "train_time"].change_percent == pytest.approx(1.888, abs=1e-3)
    assert by_name["10-to-30/1", "step_time"].why_not == "the run is too short for this rule"


def test_a_score_from_standard_input_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be read twice"):
        read_run("-")
