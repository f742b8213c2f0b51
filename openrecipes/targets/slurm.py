"""A Slurm cluster as a target: one script for sbatch that starts the node script on every node of the job."""

import math
from collections.abc import Iterator
from typing import Any, Final

from openrecipes.layouts.degrees import gpus_of_a_node
from openrecipes.problems import Problem
from openrecipes.targets.cluster_refusals import cluster_refusals
from openrecipes.targets.container_values import container_values
from openrecipes.targets.fatal_signs import sign_files
from openrecipes.targets.node_script import hang_values, has_gpus, node_count, node_files
from openrecipes.targets.slurm_site import SlurmSite
from openrecipes.targets.target import Launch, Rendered, RenderedFile
from openrecipes.targets.templates import ShellText, shell_script

# Within Slurm's KillWait (30 s by default) the head, its workers and the record have to be done after a scancel.
GRACE_S: Final = 7
ENTRY: Final = "launch.sh"
# Relative to the run directory, in which sbatch is called.
SCHEDULER_LOG: Final = "log/slurm.log"


class SlurmTarget:
    """Runs a recipe as a Slurm job, on bare nodes or in a container of Pyxis or Apptainer."""

    @property
    def name(self) -> str:
        """`slurm`."""
        return "slurm"

    def refusals(self, launch: Launch) -> Iterator[Problem]:
        """What the profile lacks or says twice, paths, containers, and a recipe's own commands."""
        yield from cluster_refusals(launch)

    def render(self, launch: Launch) -> Rendered:
        """The batch script, and the node script with what it needs."""
        site = launch.profile.slurm or SlurmSite()
        script = shell_script(
            "slurm.sh.j2",
            options=tuple(ShellText(option) for option in sbatch_options(launch, site)),
            kept_variables=launch.profile.kept_variables,
            kept_prefixes=("SLURM_",),
            grace_seconds=GRACE_S,
            hang=hang_values(launch.profile.hang),
            container=container_values(launch.profile),
            pyxis=_pyxis(launch),
            has_gpus=has_gpus(launch),
            nodes=node_count(launch),
            requeue=site.requeue,
            time_limit_seconds=launch.profile.time_limit_seconds,
            warn_seconds=_warn_seconds(launch, site),
        )
        entry = RenderedFile(path=ENTRY, text=script, executable=True)
        return Rendered(files=(entry, *node_files(launch, grace_s=GRACE_S), *sign_files()), entry=ENTRY)


def sbatch_options(launch: Launch, site: SlurmSite) -> Iterator[str]:
    """The options of the job, one a line; sbatch expands no variable in them."""
    gpus, limit = launch.recipe.gpu, launch.profile.time_limit_seconds
    yield f"--job-name={_job_name(launch)}"
    yield from (f"--nodes={node_count(launch)}", "--ntasks-per-node=1")
    yield from allocation_options(site, gpus_of_a_node(gpus.count, gpus.per_node) if has_gpus(launch) else 0)
    if limit is not None:
        yield f"--time={math.ceil(limit / 60)}"
    yield f"--signal=B:TERM@{_warn_seconds(launch, site)}"
    yield "--requeue" if site.requeue else "--no-requeue"
    yield from (f"--output={SCHEDULER_LOG}", "--open-mode=append")
    yield from site.options


def allocation_options(site: SlurmSite, gpus: int) -> Iterator[str]:
    """Where the nodes are taken from and what is asked of each, as sbatch and srun take it; `gpus` are a node's."""
    for name in ("partition", "account", "qos", "reservation", "constraint", "switches"):
        value = getattr(site, name)
        if value is not None:
            yield f"--{name}={value}"
    if site.exclude:
        yield f"--exclude={','.join(site.exclude)}"
    if gpus and site.gpu_request != "none":
        kind = f"{site.gpu_type}:" if site.gpu_type else ""
        form = f"gres=gpu:{kind}" if site.gpu_request == "gres" else f"gpus-per-node={kind}"
        yield f"--{form}{gpus}"
    if site.exclusive:
        yield "--exclusive"
    if site.cpus_per_node is not None:
        yield f"--cpus-per-task={site.cpus_per_node}"
    yield f"--mem={f'{site.memory_gib_per_node}G' if site.memory_gib_per_node else 0}"


def _job_name(launch: Launch) -> str:
    """A name for people; a launch gives the job its run's own name."""
    words = f"{launch.recipe.model}-{launch.recipe.layout.label}".lower()
    return "".join(c if c.isascii() and (c.isalnum() or c in "-._") else "-" for c in words)


def _warn_seconds(launch: Launch, site: SlurmSite) -> int:
    """Time between Slurm's warning and its end; of a short limit no more than a quarter."""
    limit = launch.profile.time_limit_seconds
    return site.warn_seconds if limit is None else min(site.warn_seconds, limit // 4)


def _pyxis(launch: Launch) -> dict[str, Any] | None:
    """What srun is told of the container, where Pyxis starts it."""
    values = container_values(launch.profile)
    if values is None or values["runtime"] != "pyxis":
        return None
    mounts = "".join(f",{mount}" for mount in values["mounts"])
    # A variable that the image has too keeps the image's value, unless it is named.
    names = ("OPENRECIPES_RUN_DIR", *values["variables"])
    return {"image": values["image"], "mounts": ShellText(_in_quotes(mounts)), "variables": ShellText(",".join(names))}


def _in_quotes(text: str) -> str:
    """One shell word in quotes, also where shlex would leave them out."""
    return "'" + text.replace("'", "'\\''") + "'"
