"""Recipes that settings changed: checked as if they were written so, each problem at its setting."""

from pathlib import Path

import pytest
from varied_recipes import PUBLISHED, SMOKE

from openrecipes.check.overridden import override_problems
from openrecipes.problems import Problem
from openrecipes.recipe.read import LocatedRecipe, read_recipe
from openrecipes.render.overrides import changed_by, overridden, with_overrides
from openrecipes.render.setting_problems import Override, parsed_setting


def located(path: Path = PUBLISHED[-1]) -> LocatedRecipe:
    return read_recipe(path)


def problems(*settings: str, original: LocatedRecipe | None = None) -> tuple[Problem, ...]:
    original = original or located()
    return override_problems(original, overridden(original.recipe, settings))


@pytest.mark.parametrize(
    ("setting", "rules"),
    [
        ("layout.ep=30", {"layout-experts", "layout-expert-gpus"}),
        ("workload.global_batch=100", {"layout-global-batch"}),
        ("gpu.type=B2000", {"gpu-known"}),
        ("arguments.lr=abc", {"argument-value"}),
        ("arguments.lr=nan", {"argument-value"}),
        ("arguments.attention_backend=fast", {"argument-value"}),
        ("layout.sequence_parallel=false", {"layout-sequence-parallel"}),
        ("env.WANDB_API_KEY=x", {"env-secret"}),
        ("arguments.overlap_param_gather=true", {"argument-needs"}),
    ],
)
def test_a_setting_that_breaks_a_rule_is_an_error_at_the_setting(setting: str, rules: set[str]) -> None:
    found = problems(setting)
    key = setting.partition("=")[0]
    assert {problem.rule for problem in found} == rules
    assert {(problem.place.file, problem.place.line, problem.place.key) for problem in found} == {("--set", None, key)}
    assert {problem.severity for problem in found} == {"error"}


def test_a_broken_key_that_is_not_set_names_the_setting_it_follows_from() -> None:
    (problem,) = problems("result.steps_per_run=1000")
    assert (problem.rule, problem.place) == ("data-rows", located().place("workload.dataset.build.rows"))
    assert problem.what.endswith(", with --set result.steps_per_run=1000")


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
@pytest.mark.parametrize(
    "setting",
    [
        "layout.ep=16",
        "layout.recompute=null",
        "result.steps_per_run=24",
        "result.window=[5, 13]",
        "gpu.type=B200",
        "gpu.count=256",
        "workload.global_batch=256",
        "arguments.lr=2e-5",
        "env.NCCL_DEBUG=INFO",
        "stack.pytorch=2.12",
    ],
)
def test_a_sound_change_breaks_nothing_although_the_figures_are_no_longer_its_own(path: Path, setting: str) -> None:
    assert [str(problem) for problem in problems(setting, original=located(path))] == []


def test_nothing_set_is_nothing_to_tell() -> None:
    assert problems() == ()


def test_what_the_original_breaks_is_not_told_again() -> None:
    original = located()
    layout = original.recipe.layout.model_copy(update={"sequence_parallel": False})
    broken = LocatedRecipe(
        recipe=original.recipe.model_copy(update={"layout": layout}),
        document=original.document,
        problems=(),
    )
    assert problems("arguments.lr=2e-5", original=broken) == ()
    assert {problem.rule for problem in problems("arguments.lr=abc", original=broken)} == {"argument-value"}


def test_a_dp_that_does_not_follow_hides_no_argument_and_breaks_no_other_rule() -> None:
    original = located()
    changed = changed_by(original.recipe, [parsed_setting("layout.tp=3"), parsed_setting("arguments.lr=abc")])
    assert not changed.whole
    found = [(problem.place.key, problem.rule) for problem in override_problems(original, changed)]
    assert found == [("arguments.lr", "argument-value"), ("layout.dp", "layout-gpus")]


def test_a_cluster_profiles_override_is_told_where_it_stands() -> None:
    changed = with_overrides(located().recipe, [Override(key="arguments.lr", text="abc", source="cluster profile x")])
    (problem,) = override_problems(located(), changed)
    assert (problem.place.file, problem.place.key) == ("cluster profile x", "arguments.lr")


@pytest.mark.parametrize("setting", ["arguments.lr=abc", "arguments.seed=1.5", "arguments.lr_decay_style=WSD"])
def test_the_smoke_trainers_own_flags_are_checked_too(setting: str) -> None:
    (problem,) = problems(setting, original=located(SMOKE))
    assert (problem.rule, problem.place.file) == ("argument-value", "--set")
