import datetime
from pathlib import Path

import pytest
from made_bundles import RECIPES, environment

from openrecipes.problems import ProblemsError
from openrecipes.recipe.read import LocatedRecipe, read_recipe
from openrecipes.recipe.write import plain
from openrecipes.stack.captured import Captured
from openrecipes.write_back.write_stack import write_stack


def _recipe(folder: Path) -> LocatedRecipe:
    path = folder / "recipe.yaml"
    path.write_bytes(RECIPES["tp2"].read_bytes())
    return read_recipe(path)


def test_only_the_stack_block_changes(tmp_path: Path) -> None:
    before = _recipe(tmp_path)
    written = write_stack(before, Captured.of(environment()), "inside the job of a-run", force=True)
    after = read_recipe(tmp_path / "recipe.yaml").recipe
    assert written.changed
    assert after.model_copy(update={"stack": before.recipe.stack}) == before.recipe
    day = datetime.datetime.fromtimestamp(environment()["captured_unix_s"], datetime.UTC).date()
    assert after.stack.source == f"captured inside the job of a-run on {day}: versions as loaded"
    assert (after.stack.transformer_engine, after.stack.python, after.stack.nccl) == ("2.10.0", "3.12.3", None)
    assert "image" not in plain(after.stack)


def test_a_capture_that_lacks_what_is_stated_is_refused_field_by_field(tmp_path: Path) -> None:
    before = _recipe(tmp_path)
    with pytest.raises(ProblemsError) as refused:
        write_stack(before, Captured.of(environment()), "here")
    keys = {problem.place.key for problem in refused.value.problems}
    assert {"stack.nccl", "stack.pytorch", "stack.framework"} <= keys
    assert (tmp_path / "recipe.yaml").read_bytes() == RECIPES["tp2"].read_bytes()
