"""Launches of published recipes on the shipped EKS profiles, for tests."""

from functools import cache
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

_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
PUBLISHED = "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"
_CLUSTERS = {"h100": "p5", "h200": "p5en", "b200": "p6-b200"}
_NAMES = sorted(
    path.relative_to(shipped("recipes")).with_suffix("").as_posix() for path in shipped("recipes").rglob("*.yaml")
)
# Every recipe of slime's, published and drafts, with the cluster of its GPU.
CASES = tuple((name, _CLUSTERS[name.split("/")[1]]) for name in _NAMES if "/cpu/" not in name)


def recipe(name: str = PUBLISHED) -> Recipe:
    *folders, stem = name.split("/")
    return read_recipe(shipped("recipes", *folders, f"{stem}.yaml")).recipe


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
    config, job = (yaml.load(file.text, Loader=_LOADER) for file in rendered.files)
    return config, job


def rendered_documents(one: Launch) -> tuple[dict[str, Any], dict[str, Any]]:
    return documents(_rendered(one))


@cache
def rendered_case(name: str, cluster: str) -> Rendered:
    """The launch of one of the cases, rendered once."""
    return _rendered(launch(recipe(name), profile(cluster)))


def _rendered(one: Launch) -> Rendered:
    assert list(KubernetesTarget().refusals(one)) == []
    return KubernetesTarget().render(one)


def pods(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Pod templates of the head and of each worker group."""
    cluster = job["spec"]["rayClusterSpec"]
    return [cluster["headGroupSpec"]["template"], *(g["template"] for g in cluster.get("workerGroupSpecs", []))]
