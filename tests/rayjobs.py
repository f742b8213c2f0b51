"""Launches of published recipes on the shipped EKS profiles, for tests."""

from typing import Any

import yaml

from openrecipes.catalog.models import model
from openrecipes.recipe.block import Block
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import read_recipe
from openrecipes.render.command import command
from openrecipes.shipped import shipped
from openrecipes.targets.kubernetes import KubernetesTarget
from openrecipes.targets.profile import Profile
from openrecipes.targets.read_profile import read_profile
from openrecipes.targets.target import Launch, Rendered

# Every recipe of slime's, published and drafts, with the cluster of its GPU; without a model it is the published one.
CASES = (
    ("h200/attune-tp2-pp4-ep32", "p5en"),
    ("h200/attune-tp1-pp4-ep32", "p5en"),
    ("h200/attune-tp2-pp2-ep64", "p5en"),
    ("h100/openrecipes-tp2-pp4-ep32", "p5"),
    ("b200/openrecipes-tp2-pp4-ep8", "p6-b200"),
    ("qwen3-235b-a22b/h200/openrecipes-tp4-pp2-ep8", "p5en"),
    ("qwen3-30b-a3b/h200/openrecipes-tp1-pp4-ep1", "p5en"),
    ("qwen3-32b/h200/openrecipes-tp2-pp4", "p5en"),
    ("qwen3.5-35b-a3b/h200/openrecipes-tp1-pp2-ep4", "p5en"),
    ("qwen3.5-35b-a3b/h200/openrecipes-tp1-pp4-ep2", "p5en"),
    ("qwen3.5-moe-small/h200/openrecipes-tp1-ep2-dp2", "p5en"),
    ("qwen3.5-moe-small/h200/openrecipes-tp2-ep2", "p5en"),
)


def recipe(name: str = CASES[0][0]) -> Recipe:
    *model_name, folder, stem = name.split("/")
    return read_recipe(shipped("recipes", *(model_name or ["qwen3.5-397b-a17b"]), folder, f"{stem}.yaml")).recipe


def profile(cluster: str = "p5en", **changes: Any) -> Profile:
    """A shipped profile; `kubernetes=`, `paths=` and so on replace fields of that block."""
    read = read_profile(shipped("launch", "clusters", f"eks-{cluster}.yaml"))
    blocks = {
        name: block.model_copy(update=value)
        if isinstance(block := getattr(read, name), Block) and isinstance(value, dict)
        else value
        for name, value in changes.items()
    }
    return read.model_copy(update=blocks)


def launch(made: Recipe | None = None, where: Profile | None = None, *, allow_shell_env: bool = False) -> Launch:
    of = made or recipe()
    found = model(of.model)
    return Launch(
        recipe=of,
        model=found,
        command=command(of, found),
        profile=where or profile(),
        allow_shell_env=allow_shell_env,
    )


def documents(rendered: Rendered) -> tuple[dict[str, Any], dict[str, Any]]:
    """The ConfigMap and the RayJob, as a YAML reader sees them."""
    config, job = (yaml.safe_load(file.text) for file in rendered.files)
    return config, job


def rendered_documents(one: Launch) -> tuple[dict[str, Any], dict[str, Any]]:
    assert list(KubernetesTarget().refusals(one)) == []
    return documents(KubernetesTarget().render(one))


def pods(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Pod templates of the head and of each worker group."""
    cluster = job["spec"]["rayClusterSpec"]
    return [cluster["headGroupSpec"]["template"], *(g["template"] for g in cluster.get("workerGroupSpecs", []))]
