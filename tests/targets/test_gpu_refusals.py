"""Recipes go to nodes of their GPU: by the profile's own word, a cluster's, or an instance's name."""

import pytest
from rayjobs import CASES, PUBLISHED, profile, recipe
from smoke_recipe import smoke_recipe

from openrecipes.problems import ProblemsError, errors_in
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import read_recipe
from openrecipes.shipped import shipped
from openrecipes.targets.gpu_refusals import gpu_contradictions, gpu_refusals
from openrecipes.targets.profile import THIS_MACHINE, GpuSite, Profile
from openrecipes.targets.read_profile import read_profile
from openrecipes.targets.rendering import prepared, target_of
from openrecipes.targets.slurm_site import SlurmSite

INSTANCE = "node.kubernetes.io/instance-type"


def found(where: Profile, of: Recipe | None = None) -> list[tuple[str, str]]:
    return [(problem.place.key or "", problem.what) for problem in gpu_refusals(of or recipe(), where)]


def on_slurm(word: str | None = None, gpu: GpuSite | None = None) -> Profile:
    return Profile(schema_version=1, name="x", target="slurm", gpu=gpu, slurm=SlurmSite(gpu_type=word))


def on_pods(selector: dict[str, str]) -> Profile:
    return profile(kubernetes={"node_selector": selector}, gpu=None)


def test_the_shipped_profiles_take_the_recipes_of_their_gpu() -> None:
    assert len(CASES) >= 12
    assert all(found(profile(cluster), recipe(name)) == [] for name, cluster in CASES)


@pytest.mark.parametrize(
    ("where", "key", "what"),
    [
        (on_slurm(gpu=GpuSite(type="H100")), "gpu.type", "H100 GPUs, but the recipe is for H200"),
        (on_slurm(gpu=GpuSite(type="CPU")), "gpu.type", "CPU GPUs, but the recipe is for H200"),
        (on_slurm("h100"), "slurm.gpu_type", "h100 has H100 GPUs, but the recipe is for H200"),
        (
            on_pods({INSTANCE: "p6-b200.48xlarge"}),
            "kubernetes.node_selector",
            "p6-b200.48xlarge has B200 GPUs, but the recipe is for H200",
        ),
        (
            on_slurm(gpu=GpuSite(type="H200", per_node=4)),
            "gpu.per_node",
            "4 GPUs in a node, but the recipe wants 8 of each",
        ),
    ],
)
def test_nodes_of_another_gpu_or_of_fewer_are_refused(where: Profile, key: str, what: str) -> None:
    assert found(where) == [(key, what)]


@pytest.mark.parametrize(
    "where",
    [
        THIS_MACHINE,
        on_slurm(),
        on_slurm("nvidia_a"),
        on_slurm("H200"),
        on_slurm(gpu=GpuSite(type="H200", per_node=8)),
        on_pods({}),
        on_pods({INSTANCE: "nd-of-mine"}),
        on_pods({"pool": "p5.48xlarge"}),
    ],
)
def test_nodes_of_its_gpu_and_nodes_that_nobody_knows_are_taken(where: Profile) -> None:
    assert found(where) == []


def test_a_recipe_without_gpus_runs_anywhere() -> None:
    assert found(on_slurm(gpu=GpuSite(type="H100", per_node=1)), smoke_recipe()) == []


def test_a_launch_is_refused_and_one_that_is_ported_is_not() -> None:
    *folders, stem = PUBLISHED.split("/")
    located = read_recipe(shipped("recipes", *folders, f"{stem}.yaml"))
    where = read_profile(shipped("launch", "clusters", "slurm-p5.yaml"))
    with pytest.raises(ProblemsError) as caught:
        prepared(located, target_of(None, where), profile=where)
    (problem,) = errors_in(caught.value.problems)
    assert (problem.rule, problem.place.file) == ("target-gpus", where.title)
    assert problem.mend.endswith("or port the recipe with --set gpu.type=H100")
    ported = prepared(located, target_of(None, where), profile=where, settings=["gpu.type=H100"])
    assert ported.launch.recipe.gpu.type == "H100"


@pytest.mark.parametrize(
    ("where", "told"),
    [
        (on_slurm(gpu=GpuSite(type="H20")), [("gpu", "type"), "gpu-known"]),
        (on_slurm("h100", gpu=GpuSite(type="H200")), [("slurm", "gpu_type"), "profile-gpu"]),
        (profile("p5", gpu=GpuSite(type="B200")), [("kubernetes", "node_selector"), "profile-gpu"]),
        (profile("p5"), []),
        (on_slurm("nvidia_a", gpu=GpuSite(type="H200")), []),
    ],
)
def test_a_profile_that_says_two_gpus_or_an_unknown_one_is_told(where: Profile, told: list[object]) -> None:
    assert [part for path, rule, _, _ in gpu_contradictions(where) for part in (path, rule)] == told
