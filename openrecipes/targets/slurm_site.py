"""What a Slurm cluster must say once, for every recipe."""

from typing import Annotated, Final, Literal

from pydantic import Field

from openrecipes.recipe.block import Block, Count, CountFromZero

# sbatch reads its own lines with rules of its own; with these characters there is nothing to quote.
SlurmWord = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:,@+=/&|()\[\]*-]*$", max_length=512)]
NodeName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=253)]
SlurmOption = Annotated[str, Field(pattern=r"^--[a-z][a-z-]*(=[A-Za-z0-9._:,@+=/&|()\[\]*-]+)?$", max_length=512)]

# Options of a batch job that srun does not know (Slurm 22.05), and those that would only make it wait, or write mail.
_OF_A_BATCH_JOB: Final = frozenset(("--batch", "--ignore-pbs", "--kill-on-invalid-dep"))
_OF_ITS_TIME: Final = frozenset(("--begin", "--deadline", "--dependency", "--mail-type", "--mail-user", "--time-min"))


class SlurmSite(Block):
    """Partition, account, and how GPUs are asked for."""

    partition: SlurmWord | None = Field(default=None, description="Partition; null takes the cluster's default.")
    account: SlurmWord | None = Field(default=None, description="Account that the job is charged to.")
    qos: SlurmWord | None = Field(default=None, description="Quality of service.")
    reservation: SlurmWord | None = Field(default=None, description="Reservation to run in.")
    constraint: SlurmWord | None = Field(default=None, description="Features that the nodes must have.")
    exclude: tuple[NodeName, ...] = Field(default=(), description="Nodes to leave out.")
    gpu_request: Literal["gpus-per-node", "gres", "none"] = Field(
        default="gpus-per-node", description="Option that asks for GPUs; none where the cluster does not count them."
    )
    gpu_type: SlurmWord | None = Field(
        default=None, description="GPU type by the cluster's own name, as h200; null asks for GPUs of any type."
    )
    exclusive: bool = Field(default=True, description="Nodes of our own; a measurement shares none.")
    cpus_per_node: Count | None = Field(
        default=None, description="CPUs of a node to ask for; null with exclusive nodes, which give all."
    )
    memory_gib_per_node: Count | None = Field(default=None, description="Memory to ask for; null takes all. Unit: GiB.")
    switches: SlurmWord | None = Field(default=None, description="Most leaf switches and longest wait, as 1@60:00.")
    options: tuple[SlurmOption, ...] = Field(
        default=(),
        description="Further sbatch options, as --wckey=NAME; none that openrecipes sets itself. The preflight's "
        "step takes those that srun knows.",
    )
    requeue: bool = Field(
        default=False, description="Let Slurm start the job anew after preemption: a new measurement, kept apart."
    )
    warn_seconds: CountFromZero = Field(
        default=120, description="TERM to the job so long before the time limit, to end and record it. Unit: seconds."
    )

    @property
    def step_options(self) -> tuple[str, ...]:
        """Of the further options those that srun takes too, and that matter to a step of some minutes."""
        left_out = _OF_A_BATCH_JOB | _OF_ITS_TIME
        return tuple(option for option in self.options if option.partition("=")[0] not in left_out)
