"""This machine as a target: one script that runs the recipe here and records how it went."""

from collections.abc import Iterator
from typing import Final

from openrecipes.problems import Place, Problem
from openrecipes.targets.container_values import container_values
from openrecipes.targets.fatal_signs import sign_files
from openrecipes.targets.node_script import hang_values, has_gpus, missing_paths, node_count, node_files
from openrecipes.targets.node_values import shell_refusals
from openrecipes.targets.profile_paths import mount_refusals
from openrecipes.targets.target import Launch, Rendered, RenderedFile
from openrecipes.targets.templates import shell_script

# Time that programs have to end by themselves after TERM, before KILL.
GRACE_S: Final = 15
# The script needs its grace for the trainer, again for what the trainer left, and a little to record it.
STOP_S: Final = 3 * GRACE_S
ENTRY: Final = "launch.sh"


class LocalTarget:
    """Runs a recipe of one node on this machine: the smoke trainer under torchrun, slime on a Ray of one node."""

    @property
    def name(self) -> str:
        """`local`."""
        return "local"

    def refusals(self, launch: Launch) -> Iterator[Problem]:
        """A recipe of several nodes, a path that the trainer needs and the profile lacks, a recipe's own commands."""
        gpus = launch.recipe.gpu
        needed = node_count(launch)
        if needed > 1:
            yield Problem(
                place=Place(key="gpu.count"),
                rule="target-nodes",
                what=f"{gpus.count} x {gpus.type}, {gpus.per_node} per node, are {needed} nodes; a local run has one",
                mend=f"launch it on a cluster of {needed} nodes, or run a recipe of one node",
            )
        else:
            yield from missing_paths(launch)
        yield from mount_refusals(launch)
        yield from shell_refusals(launch.shell_values, allowed=launch.allow_shell_env)

    def render(self, launch: Launch) -> Rendered:
        """The script of this machine, and the node script with what it needs."""
        script = shell_script(
            "local.sh.j2",
            kept_variables=launch.profile.kept_variables,
            grace_seconds=GRACE_S,
            hang=hang_values(launch.profile.hang),
            time_limit_seconds=launch.profile.time_limit_seconds,
            container=container_values(launch.profile),
            has_gpus=has_gpus(launch),
        )
        entry = RenderedFile(path=ENTRY, text=script, executable=True)
        return Rendered(files=(entry, *node_files(launch, grace_s=GRACE_S), *sign_files()), entry=ENTRY)
