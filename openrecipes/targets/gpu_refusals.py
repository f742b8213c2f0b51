"""Which recipes the GPUs of a place are not for, by what its profile says of them."""

from collections.abc import Iterator
from typing import Final

from openrecipes.catalog.gpus import find_gpu, find_instance, unknown_gpu
from openrecipes.layouts.degrees import gpus_of_a_node
from openrecipes.located_yaml import Path_, dotted
from openrecipes.problems import Place, Problem
from openrecipes.recipe.model import Recipe
from openrecipes.targets.profile import Profile

_INSTANCE_LABEL: Final = "node.kubernetes.io/instance-type"


def stated_gpus(profile: Profile) -> Iterator[tuple[Path_, str, str]]:
    """Where a profile says which GPU its nodes have: path of the key, what stands there, the GPU's name."""
    if profile.gpu is not None:
        yield ("gpu", "type"), profile.gpu.type, profile.gpu.type
    if profile.kubernetes is not None:
        named = profile.kubernetes.node_selector.get(_INSTANCE_LABEL)
        found = find_instance(f"AWS {named}")
        if named is not None and found is not None:
            yield ("kubernetes", "node_selector"), named, found[0].name
    if profile.slurm is not None and profile.slurm.gpu_type is not None:
        # A cluster's own word: taken for a GPU only where it is one's name.
        card = find_gpu(profile.slurm.gpu_type.upper())
        if card is not None:
            yield ("slurm", "gpu_type"), profile.slurm.gpu_type, card.name


def gpu_contradictions(profile: Profile) -> Iterator[tuple[Path_, str, str, str]]:
    """A GPU that nobody knows, and two keys that say two: path of the key, rule, what, mend."""
    if profile.gpu is not None and find_gpu(profile.gpu.type) is None:
        yield ("gpu", "type"), "gpu-known", *unknown_gpu(profile.gpu.type)
        return
    stated = tuple(stated_gpus(profile))
    for path, word, name in stated[1:]:
        first, said, other = stated[0]
        if name != other:
            what = f"{word} has {name} GPUs, but {dotted(first)} says {said}"
            yield path, "profile-gpu", what, f"write the same GPU into {dotted(first)} and {dotted(path)}"


def gpu_refusals(recipe: Recipe, profile: Profile) -> Iterator[Problem]:
    """Nodes that are known to hold other GPUs than the recipe is for, or fewer of them."""
    wanted = recipe.gpu
    if wanted.type == "CPU":
        return
    for path, word, name in stated_gpus(profile):
        if name != wanted.type:
            has = "" if word == name else f"{word} has "
            what = f"{has}{name} GPUs, but the recipe is for {wanted.type}"
            mend = f"name a profile of {wanted.type} nodes, or port the recipe with --set gpu.type={name}"
            place = Place(file=profile.title, key=dotted(path))
            yield Problem(place=place, rule="target-gpus", what=what, mend=mend)
            return
    there, needed = profile.gpu.per_node if profile.gpu else None, gpus_of_a_node(wanted.count, wanted.per_node)
    if there is not None and needed > there:
        what = f"{there} GPUs in a node, but the recipe wants {needed} of each"
        mend = f"name a profile of larger nodes, or lay the recipe out anew with --set gpu.per_node={there}"
        place = Place(file=profile.title, key="gpu.per_node")
        yield Problem(place=place, rule="target-gpus", what=what, mend=mend)
