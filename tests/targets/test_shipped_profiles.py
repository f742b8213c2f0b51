"""Which shipped profile suits a recipe: of its target and GPU, of its instance where there is one."""

from pathlib import Path

import pytest
from varied_recipes import PUBLISHED

from openrecipes.problems import UsageError
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import read_recipe
from openrecipes.shipped import shipped
from openrecipes.targets.shipped_profiles import example_for, profile_file, shipped_profiles


def on(gpu_type: str, instance: str | None) -> Recipe:
    recipe = read_recipe(PUBLISHED[2]).recipe
    return recipe.model_copy(update={"gpu": recipe.gpu.model_copy(update={"type": gpu_type, "instance": instance})})


def test_every_example_is_found_by_its_name_and_a_name_is_no_path() -> None:
    folder = shipped("launch", "clusters")
    assert len(shipped_profiles()) == len(list(folder.iterdir())) >= 10
    for name, path in shipped_profiles().items():
        assert profile_file(Path(name)) == path == folder / f"{name}.yaml"
    for other in ("../clusters/slurm-p5en", "/slurm-p5en", "slurm"):
        with pytest.raises(UsageError, match="no shipped profile of that name"):
            profile_file(Path(other))


@pytest.mark.parametrize(
    ("target", "gpu_type", "instance", "name"),
    [
        ("slurm", "H200", "AWS p5en.48xlarge", "slurm-p5en"),
        ("slurm", "H100", "AWS p5.48xlarge", "slurm-p5"),
        ("slurm", "B200", "AWS p6-b200.48xlarge", "slurm-p6-b200"),
        ("slurm", "H200", None, "slurm-bare"),
        ("slurm", "H200", "a cloud's own", "slurm-bare"),
        ("kubernetes", "H100", "AWS p5.48xlarge", "eks-p5"),
        ("kubernetes", "B200", None, "eks-p6-b200"),
        ("ssh", "H200", None, "ssh-p5en"),
    ],
)
def test_the_recipes_gpu_and_instance_decide(target: str, gpu_type: str, instance: str | None, name: str) -> None:
    assert example_for(target, on(gpu_type, instance)) == shipped_profiles()[name]


def test_without_a_profile_of_the_gpu_those_of_the_target_are_named_with_theirs() -> None:
    with pytest.raises(UsageError) as refused:
        example_for("slurm", on("MI300X", None))
    told = refused.value.problems[0]
    assert (told.rule, told.place.key) == ("target-profile", "--target")
    assert "slurm-p5 (H100)" in told.what
    assert "slurm-p6-b200 (B200)" in told.what
    assert "eks" not in told.what
