"""A run keeps its recipe as launched: no verb writes into that file, and the run stays evidence."""

from collections.abc import Callable
from pathlib import Path

import pytest
from made_bundles import RECIPES, environment
from made_run_directories import job, made

from openrecipes.problems import ProblemsError
from openrecipes.recipe.read import LocatedRecipe, read_recipe
from openrecipes.recipe.write import plain
from openrecipes.runs.directory import RunDirectory
from openrecipes.stack.captured import Captured
from openrecipes.write_back.as_launched import refuse_as_launched
from openrecipes.write_back.write_result import write_block, write_result
from openrecipes.write_back.write_stack import write_stack


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    directory = made(tmp_path / "run1", of_job=job())
    directory.recipe.write_bytes(RECIPES["tp2"].read_bytes())
    return directory


def write_a_result(located: LocatedRecipe) -> None:
    write_result(located, located.recipe.result.model_copy(update={"tokens_per_s_per_gpu": 600.0}), force=True)


def write_correctness(located: LocatedRecipe) -> None:
    write_block(located, "correctness", plain(located.recipe)["correctness"] | {"summary": "passed"})


def write_the_stack(located: LocatedRecipe) -> None:
    write_stack(located, Captured.of(environment()), "here", force=True)


@pytest.mark.parametrize("write", [write_a_result, write_correctness, write_the_stack, refuse_as_launched])
@pytest.mark.parametrize("is_named_by_a_link", [False, True])
def test_the_recipe_as_launched_is_not_written(
    run: RunDirectory, tmp_path: Path, write: Callable[[LocatedRecipe], None], is_named_by_a_link: bool
) -> None:
    path = run.recipe
    if is_named_by_a_link:
        path = tmp_path / "mine.yaml"
        path.symlink_to(run.recipe)
    with pytest.raises(ProblemsError, match="recipe as the run had it") as refused:
        write(read_recipe(path))
    assert [problem.rule for problem in refused.value.problems] == ["write-as-launched"]
    assert run.recipe.read_bytes() == RECIPES["tp2"].read_bytes()


def test_the_runs_copy_for_results_is_named_where_there_is_one_and_may_be_written(run: RunDirectory) -> None:
    run.recipe_with_result.write_bytes(RECIPES["tp2"].read_bytes())
    with pytest.raises(ProblemsError) as refused:
        refuse_as_launched(read_recipe(run.recipe))
    assert str(run.recipe_with_result) in refused.value.problems[0].mend
    write_a_result(read_recipe(run.recipe_with_result))
    assert read_recipe(run.recipe_with_result).recipe.result.tokens_per_s_per_gpu == 600.0


def test_a_recipe_of_that_name_elsewhere_is_written(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_bytes(RECIPES["tp2"].read_bytes())
    write_a_result(read_recipe(path))
    assert path.read_bytes() != RECIPES["tp2"].read_bytes()
