"""A checkpoint's path that plainly names another model is told, and nothing else is."""

import pytest

from openrecipes.problems import errors_in
from openrecipes.recipe.read import read_recipe
from openrecipes.shipped import shipped
from openrecipes.targets.checkpoint_paths import other_model
from openrecipes.targets.read_profile import read_profile
from openrecipes.targets.rendering import prepared, target_of

RECIPE = ("recipes", "qwen3-32b", "h200", "openrecipes-tp2-pp4.yaml")


@pytest.mark.parametrize(
    ("path", "own", "other"),
    [
        ("/fsx/checkpoints/Qwen3.5-397B-A17B", "Qwen3-32B", "Qwen3.5-397B-A17B"),
        ("/fsx/checkpoints/Qwen3.5-397B-A17B_torch_dist", "Qwen3-32B", "Qwen3.5-397B-A17B"),
        ("/hub/models--Qwen--Qwen3-30B-A3B/snapshots/ab12", "Qwen3-32B", "Qwen3-30B-A3B"),
        ("/data/qwen3_32b/torch_dist", "Qwen3.5-4B", "Qwen3-32B"),
        ("/data/Qwen3-32B-Base", "Qwen3.5-4B", "Qwen3-32B"),
        ("/data/Qwen3-32B-Base", "Qwen3-32B", None),
        ("/data/Qwen3.5-4B/from/Qwen3-32B", "Qwen3.5-4B", None),
        ("/data/Qwen3-325B", "Qwen3.5-4B", None),
        ("/data/MyQwen3-32B", "Qwen3.5-4B", None),
        ("/data/Qwen3-32B.5", "Qwen3.5-4B", None),
        ("/data/checkpoints/latest", "Qwen3.5-4B", None),
        ("/", "Qwen3.5-4B", None),
    ],
)
def test_a_path_names_another_model_only_where_that_is_plain(path: str, own: str, other: str | None) -> None:
    assert other_model(path, own) == other


def test_a_launch_says_a_word_at_each_path_and_is_not_refused() -> None:
    where = read_profile(shipped("launch", "clusters", "slurm-p5en.yaml"))
    ready = prepared(read_recipe(shipped(*RECIPE)), target_of(None, where), profile=where)
    told = [problem for problem in ready.warnings if problem.rule == "target-checkpoint"]
    assert [problem.place.key for problem in told] == ["paths.hf_checkpoint", "paths.torch_dist"]
    assert all(problem.place.file == where.title for problem in told)
    assert "reads like Qwen3.5-397B-A17B, but the recipe trains Qwen3-32B" in told[0].what
    assert not errors_in(ready.warnings)
    own = where.paths.model_copy(update={"hf_checkpoint": "/fsx/Qwen3-32B", "torch_dist": "/fsx/32b"})
    fits = where.model_copy(update={"paths": own})
    again = prepared(read_recipe(shipped(*RECIPE)), target_of(None, fits), profile=fits)
    assert not [problem for problem in again.warnings if problem.rule == "target-checkpoint"]


def test_the_smoke_trainer_reads_the_launched_shape_of_its_model_and_no_checkpoint() -> None:
    where = read_profile(shipped("launch", "clusters", "slurm-bare.yaml"))
    smoke = read_recipe(shipped("recipes", "qwen3.5-moe-mini", "cpu", "smoke-dp2.yaml"))
    ready = prepared(smoke, target_of(None, where), profile=where)
    assert not [problem for problem in ready.warnings if problem.rule == "target-checkpoint"]
    texts = {file.path: file.text for file in ready.rendered.files}
    assert "model/config.json" in texts
    assert not [path for path, text in texts.items() if where.paths.hf_checkpoint and where.paths.hf_checkpoint in text]
