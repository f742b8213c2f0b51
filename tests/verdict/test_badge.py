"""The badge follows from the evidence: every part of it is needed, and no claim adds to it."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from good_recipes import good, text_with
from hypothesis import given, settings
from hypothesis import strategies as st

from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import parse_recipe, read_recipe
from openrecipes.verdict.badge import BADGES, verdict
from openrecipes.verdict.strength import evidence

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = sorted((ROOT / "recipes/qwen3.5-397b-a17b/h200").glob("attune-*.yaml"))


def recipe_with(changes: dict[str, Any] | None = None) -> Recipe:
    text = text_with(good(), changes or {})
    return parse_recipe(text, "recipes/qwen3.5-397b-a17b/h200/attune-fast.yaml").recipe


def test_complete_recomputable_evidence_is_verified() -> None:
    found = verdict(recipe_with())
    assert found.badge == "verified"
    assert [reason.split(" ")[0] for reason in found.why] == ["scored:", "configuration", "convergence", "component"]


def test_the_badge_does_not_need_the_claim() -> None:
    assert verdict(recipe_with({"status": "measured"})).badge == "verified"


LESS = {
    "no log of the score": ({"result.log_sha256": None}, "names no log"),
    "no correctness block": ({"correctness": None}, "no correctness evidence"),
    "the whole failed": ({"correctness.result": "fail"}, "correctness.result is fail"),
    "no configuration": ({"correctness.configuration": None}, "no configuration check"),
    "configuration failed": ({"correctness.configuration": "fail"}, "configuration check failed"),
    "configuration against nothing": ({"correctness.configuration_evidence": None}, "what was compared"),
    "no convergence": ({"correctness.convergence": None}, "no convergence check"),
    "convergence failed": ({"correctness.convergence.result": "fail"}, "convergence check failed"),
    "no candidate log": ({"correctness.convergence.candidate_log_sha256": None}, "candidate_log_sha256"),
    "no reference log": ({"correctness.convergence.reference_log_sha256": None}, "reference_log_sha256"),
    "a log against itself": ({"correctness.convergence.reference_log_sha256": "4" * 64}, "compares a log with itself"),
    "no rule": ({"correctness.convergence.rule": None}, "names no rule"),
    "another rule": ({"correctness.convergence.rule": "house/1"}, "house/1 is none of"),
    "no strict companion": ({"correctness.convergence.strict": None}, "strict companion"),
    "strict failed": ({"correctness.convergence.strict": "fail"}, "strict companion"),
    "no correlation": ({"correctness.convergence.correlation": None}, "correlation None"),
    "low correlation": ({"correctness.convergence.correlation": 0.98}, "correlation 0.98"),
    "far final loss": ({"correctness.convergence.final_loss_difference": 0.02}, "final_loss_difference 0.02"),
    "few points": ({"correctness.convergence.points_scored": 9}, "9 points"),
    "pointwise failures": ({"correctness.convergence.pointwise_failures": 2}, "2 of 16"),
    "no component": ({"correctness.component_tests": []}, "no component test"),
}


@pytest.mark.parametrize("name", LESS)
def test_each_gap_leaves_it_measured_and_is_named(name: str) -> None:
    changes, said = LESS[name]
    found = verdict(recipe_with(changes))
    assert found.badge == "measured"
    assert any(said in reason for reason in found.why), found.why


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("tier", "torch-cpu", "no component test says"),
        ("tier", None, "no component test says"),
        ("component", None, "no component test says"),
        ("component", "rms-norm", "asks for the component test precision-aware-adam"),
        ("result", "fail", "component test failed"),
    ],
)
def test_a_component_test_counts_by_its_tier_and_for_what_it_is_asked(key: str, value: str | None, said: str) -> None:
    test = yaml.safe_load(good())["correctness"]["component_tests"][0] | {key: value}
    found = verdict(recipe_with({"correctness.component_tests": [test]}))
    assert found.badge == "measured"
    assert any(said in reason for reason in found.why), found.why


def test_a_recipe_without_a_score_is_a_draft_whatever_it_claims() -> None:
    found = verdict(recipe_with({"result.tokens_per_s_per_gpu": None}))
    assert found.badge == "draft"
    assert found.why == ("no score: result.tokens_per_s_per_gpu is null",)


def test_a_claim_of_less_is_taken_at_its_word() -> None:
    assert verdict(recipe_with({"status": "smoke"})).badge == "smoke"
    assert verdict(recipe_with({"status": "draft"})).badge == "draft"
    assert verdict(recipe_with({"trainer": "smoke"})).badge == "smoke"


def test_the_published_recipes_are_measured_for_want_of_a_reference() -> None:
    assert len(PUBLISHED) == 3
    for file in PUBLISHED:
        found = verdict(read_recipe(file).recipe)
        assert found.badge == "measured"
        assert any("reference: Not published" in reason for reason in found.why)


@settings(max_examples=12)
@given(names=st.sets(st.sampled_from(sorted(LESS))))
def test_taking_evidence_away_never_raises_the_badge(names: set[str]) -> None:
    changes: dict[str, Any] = {}
    for name in sorted(names, key=lambda name: -len(next(iter(LESS[name][0])))):
        changes |= LESS[name][0]
    if changes.get("correctness", 0) is None:
        changes = {"correctness": None}
    elif changes.get("correctness.convergence", 0) is None:
        changes = {key: value for key, value in changes.items() if not key.startswith("correctness.convergence.")}
    assert verdict(recipe_with(changes)).worth == BADGES.index("measured" if names else "verified")


def test_a_log_hash_beats_runs_and_runs_beat_the_claim() -> None:
    def strength(**changes: Any) -> Any:
        result = recipe_with().result.model_copy(update=changes.pop("result", {}))
        return evidence(result, changes.get("status", "draft"))

    hashed = strength()
    unhashed = strength(result={"log_sha256": None, "runs": 5}, status="verified")
    many = strength(result={"log_sha256": None, "runs": 6})
    assert hashed > many > unhashed
    assert strength(status="verified") > strength(status="measured") > strength(status="smoke") > hashed
    assert evidence(recipe_with({"result.tokens_per_s_per_gpu": None}).result, "draft") is None
