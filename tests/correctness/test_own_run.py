"""A log goes into the recipe that it ran, and into no other."""

from pathlib import Path

from openrecipes.correctness.own_run import own_run_problems
from openrecipes.logs.run_log import read_log
from openrecipes.problems import Problem
from openrecipes.recipe.read import read_recipe

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "recipes/qwen3.5-moe-small/h200"
LOG = ROOT / "tests/data/runs/qwen3.5-moe-small-tp2.log.gz"


def told(recipe: Path, arguments: dict[str, str] | None = None) -> tuple[Problem, ...]:
    found = dict(read_log([LOG]).arguments) if arguments is None else arguments
    return own_run_problems(read_recipe(recipe), "train.log", found)


def with_argument(name: str, value: str) -> dict[str, str]:
    return {**read_log([LOG]).arguments, name: value}


def test_a_recipes_own_log_is_told_apart_only_by_what_its_site_changed() -> None:
    (problem,) = told(SMALL / "openrecipes-tp2-ep2.yaml")
    assert (problem.rule, problem.severity) == ("correctness-deviation", "warning")
    assert "ran --attention-backend fused" in problem.what


def test_a_longer_arm_of_the_same_recipe_is_its_own() -> None:
    found = told(SMALL / "openrecipes-tp2-ep2.yaml", with_argument("num_rollout", "20"))
    assert {problem.severity for problem in found} == {"warning"}


def test_another_layout_or_another_rate_is_another_run() -> None:
    assert "correctness-other-run" in {problem.rule for problem in told(SMALL / "openrecipes-tp1-ep2-dp2.yaml")}
    found = told(SMALL / "openrecipes-tp2-ep2.yaml", with_argument("lr", "2e-05"))
    assert any("ran --lr 2e-05" in problem.what and problem.severity == "error" for problem in found)


def test_a_log_without_a_dump_shows_nothing() -> None:
    (problem,) = told(SMALL / "openrecipes-tp2-ep2.yaml", {})
    assert problem.rule == "correctness-other-run"
    assert "no argument dump" in problem.what
