from pathlib import Path

import pytest

from openrecipes.check.report import check_file
from openrecipes.problems import ProblemsError, UsageError, errors_in
from openrecipes.recipe.library import Library
from openrecipes.recipe.read import LocatedRecipe, read_recipe
from openrecipes.recipe.result import Result
from openrecipes.write_back.new_recipe import INTENDED, new_recipe, write_new

ROOT = Path(__file__).parents[2] / "recipes"
SOURCES = Library(root=ROOT).files()
FIGURES = [name for name in Result.model_fields if name not in {"active_params", "steps_per_run", "window"}]
KEPT = {"window_tokens", "mfu_note"}


def _source(name: str) -> LocatedRecipe:
    return read_recipe(Library(root=ROOT).find(name))


def _published() -> LocatedRecipe:
    return _source("qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32")


def test_a_new_recipe_is_a_draft_without_figures_that_check_passes(tmp_path: Path) -> None:
    path = tmp_path / "recipes/qwen3.5-397b-a17b/h200/me-tp4-pp4-ep32.yaml"
    made = new_recipe(_published(), path, ("layout.tp=4", "author.name=Me"))
    assert not path.exists()
    write_new(made)
    recipe = read_recipe(path).recipe
    assert errors_in(check_file(path)) == ()
    assert recipe == made.recipe
    assert (recipe.status, recipe.correctness, recipe.author.name) == ("draft", None, "Me")
    assert (recipe.layout.label, recipe.layout.dp) == ("TP4 PP4 EP32 DP8", 8)
    assert [name for name in FIGURES if getattr(recipe.result, name) is not None] == ["window_tokens"]
    assert recipe.stack.source == INTENDED
    assert "--tensor-model-parallel-size 4" in recipe.run
    assert path.read_text().startswith("# recipes/qwen3.5-397b-a17b/h200/me-tp4-pp4-ep32.yaml\n")


def test_steps_derive_the_window_again(tmp_path: Path) -> None:
    made = new_recipe(_published(), tmp_path / "x.yaml", ("result.steps_per_run=20",))
    assert made.recipe.result.window == (5, 19)
    assert made.recipe.result.window_tokens == 15 * 128 * 8192
    assert "--num-rollout 20" in made.recipe.run


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_each_recipe_of_the_library_can_be_started_from_as_it_is(path: Path, tmp_path: Path) -> None:
    assert len(SOURCES) >= 8
    source = read_recipe(path)
    made = new_recipe(source, tmp_path / "copy.yaml", ())
    words = {"summary", "highlights"}
    assert made.recipe.layout.model_dump(exclude=words) == source.recipe.layout.model_dump(exclude=words)
    assert made.recipe.status in ("draft", "smoke")
    assert {name for name in FIGURES if getattr(made.recipe.result, name) is not None} <= KEPT


@pytest.mark.parametrize(
    ("name", "settings", "rule"),
    [
        ("you-tp4-pp4-ep32", ("layout.tp=4", "author.name=Me"), "path-author"),
        ("me-tp2-pp4-ep32", ("layout.tp=4", "author.name=Me"), "path-layout"),
        ("me-tp4-pp4-ep32", ("layout.tp=4", "author.name=Me", "gpu.type=H100"), "path-gpu"),
    ],
)
def test_a_file_name_that_says_otherwise_is_refused(
    tmp_path: Path, name: str, settings: tuple[str, ...], rule: str
) -> None:
    path = tmp_path / f"recipes/qwen3.5-397b-a17b/h200/{name}.yaml"
    with pytest.raises(ProblemsError) as refused:
        new_recipe(_published(), path, settings)
    assert rule in [problem.rule for problem in errors_in(refused.value.problems)]
    assert not path.exists()


@pytest.mark.parametrize(
    "settings", [("layout.tp=3",), ("layout.nosuch=1",), ("result.mfu=0.9",), ("status=measured",)]
)
def test_a_setting_that_does_not_hold_is_refused(tmp_path: Path, settings: tuple[str, ...]) -> None:
    with pytest.raises(ProblemsError):
        new_recipe(_published(), tmp_path / "x.yaml", settings)


def test_what_breaks_rules_is_told_beside_what_leaves_no_command(tmp_path: Path) -> None:
    with pytest.raises(ProblemsError) as refused:
        new_recipe(_published(), tmp_path / "x.yaml", ("layout.layer_split=[10, 15, 20, 15]", "layout.ep=30"))
    found = {problem.rule for problem in refused.value.problems}
    assert found == {"layout-split-middle", "layout-experts", "layout-expert-gpus"}


def test_nothing_is_written_over_not_even_a_dangling_link(tmp_path: Path) -> None:
    made = new_recipe(_published(), tmp_path / "x.yaml", ())
    (tmp_path / "x.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    with pytest.raises(UsageError) as refused:
        write_new(made)
    assert refused.value.problems[0].rule == "new-exists"
    assert not (tmp_path / "elsewhere.yaml").exists()
