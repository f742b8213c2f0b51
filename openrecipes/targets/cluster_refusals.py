"""Why a launch cannot go to a cluster of Slurm or of ssh hosts as its profile describes it."""

from collections.abc import Iterator

from openrecipes.problems import Place, Problem
from openrecipes.targets.fabric import fabric_refusals
from openrecipes.targets.node_script import missing_paths, node_count
from openrecipes.targets.node_values import shell_refusals
from openrecipes.targets.profile_paths import mount_refusals, relative_paths
from openrecipes.targets.profile_problems import profile_problems
from openrecipes.targets.target import Launch


def cluster_refusals(launch: Launch) -> Iterator[Problem]:
    """Everything that can be told without a cluster, all at once."""
    recipe, profile = launch.recipe, launch.profile
    if recipe.trainer == "smoke" and node_count(launch) > 1:
        yield Problem(
            place=Place(key="gpu.per_node"),
            rule="target-trainer",
            what=f"{recipe.gpu.count} ranks, {recipe.gpu.per_node} per node, and the smoke trainer runs on one node",
            mend=f"set gpu.per_node to {recipe.gpu.count}, or run a recipe of slime",
        )
    yield from missing_paths(launch)
    yield from relative_paths(launch.profile)
    yield from mount_refusals(launch)
    yield from shell_refusals(launch.shell_values, allowed=launch.allow_shell_env)
    yield from fabric_refusals(recipe, profile.fabric, profile.title)
    yield from profile_problems(profile)


def hosts_refusals(launch: Launch) -> Iterator[Problem]:
    """A list of hosts that is too short."""
    site, gpus = launch.profile.ssh, launch.recipe.gpu
    needed = node_count(launch)
    if site is None:
        return
    there = len({host.rpartition("@")[2] for host in site.hosts})
    if there < needed:
        yield Problem(
            place=Place(file=launch.profile.title, key="ssh.hosts"),
            rule="target-nodes",
            what=f"{there} host{'' if there == 1 else 's'}, and {gpus.count} x {gpus.type}, {gpus.per_node} per node, "
            f"need {needed}",
            mend=f"list {needed} hosts, or run a smaller recipe",
        )
