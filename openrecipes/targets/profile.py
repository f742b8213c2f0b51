"""What a launch must know about the place it runs on, apart from the recipe."""

from typing import Final, Literal

from pydantic import Field

from openrecipes.recipe.block import Block, Count, Positive, Text
from openrecipes.recipe.model import ArgumentValue, EnvironmentName, FlagName
from openrecipes.targets.container import Container
from openrecipes.targets.fabric import Fabric
from openrecipes.targets.kubernetes_site import KubernetesSite
from openrecipes.targets.running_settings import Hang, Ray, Secret
from openrecipes.targets.slurm_site import SlurmSite
from openrecipes.targets.ssh_site import SshSite

# What of the submitter's environment reaches a job: who and where it is, and the GPUs that it was given.
# Everything else stays outside, so that two people's runs of one recipe are the same run.
KEPT: Final = (
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "VIRTUAL_ENV",
    "CUDA_VISIBLE_DEVICES",
    "XDG_CACHE_HOME",
)


class GpuSite(Block):
    """One kind of GPU for all nodes of a place; a place with two kinds has two profiles."""

    type: Text = Field(description="GPU type, by the catalogue's name: H100, H200, B200.")
    per_node: Count | None = Field(
        default=None, description="GPUs in one node; null holds no recipe to it. Unit: GPUs."
    )


class Paths(Block):
    """Where things lie on the target."""

    hf_checkpoint: Text | None = Field(default=None, description="Hugging Face checkpoint: config and tokenizer.")
    torch_dist: Text | None = Field(default=None, description="Megatron torch_dist checkpoint that --ref-load reads.")
    sft_data: Text | None = Field(default=None, description="SFT rows; null where a run builds or is given them.")
    slime: Text | None = Field(default=None, description="slime checkout; its train_async.py is the entry.")
    megatron: Text | None = Field(default=None, description="Megatron-LM checkout with slime's patch.")
    runs: Text | None = Field(
        default=None, description="Folder of run directories, on a file system that every node sees; null is runs/."
    )


class Profile(Block):
    """One place to run: what a site must say once, for every recipe."""

    schema_version: Literal[1] = Field(description="Version of this schema.")
    name: Text | None = Field(description="Name of the place, for run records; null for this machine.")
    target: Literal["local", "ssh", "slurm", "kubernetes"] = Field(
        description="Kind of place: local is one machine, kubernetes a cluster with KubeRay."
    )
    gpu: GpuSite | None = Field(
        default=None,
        description="GPUs of its nodes; a recipe for others is refused. Null takes a recipe for any, unless the "
        "scheduler's own words tell.",
    )
    python: Text = Field(default="python3", description="Interpreter of the job: a name on PATH, or a path.")
    keep_environment: tuple[EnvironmentName, ...] = Field(
        default=(), description="Variables of the submitter's environment that the job keeps, beside the usual few."
    )
    paths: Paths = Field(default=Paths(), description="Where things lie.")
    env: dict[EnvironmentName, str] = Field(
        default={}, description="Environment variables that the site must set; each is a recorded deviation."
    )
    arguments: dict[FlagName, ArgumentValue] = Field(
        default={}, description="Trainer flags that the site must set; each is a recorded deviation."
    )
    secrets: dict[EnvironmentName, Secret] = Field(
        default={}, description="Variables of the job by reference; their values stand in no file of a run."
    )
    container: Container | None = Field(default=None, description="Container of the job; null runs on the node itself.")
    fabric: Fabric | None = Field(default=None, description="Network between the nodes; null for one machine.")
    slurm: SlurmSite | None = Field(default=None, description="The cluster, where the target is slurm.")
    ssh: SshSite | None = Field(default=None, description="The hosts, where the target is ssh.")
    kubernetes: KubernetesSite | None = Field(default=None, description="The cluster, where the target is kubernetes.")
    preflight: Literal["block", "report", "off"] | None = Field(
        default=None,
        description="Whether what the preflight finds ends a run before it trains, or is only told; null blocks on a "
        "cluster, and is off on one machine.",
    )
    preflight_load: bool | None = Field(
        default=None,
        description="Whether the preflight also works the GPUs and the network between nodes, for a minute or two; "
        "null does on a cluster.",
    )
    ray: Ray = Field(default=Ray(), description="Ray's ports, folder and sizes.")
    hang: Hang = Field(default=Hang(), description="When a run that takes no step any more is ended.")
    time_limit_seconds: Count | None = Field(
        default=None, description="Longest time of a run; null is the scheduler's own. Unit: seconds."
    )
    ask_above_usd: Positive = Field(
        default=50, description="A launch that costs more is asked about, or needs --yes. Unit: US dollars."
    )
    join_seconds: Count = Field(default=300, description="Longest wait until every GPU has joined Ray. Unit: seconds.")

    @property
    def kept_variables(self) -> tuple[str, ...]:
        """Names of the variables that reach the job."""
        secrets = (secret.variable for secret in self.secrets.values() if secret.variable is not None)
        return tuple(dict.fromkeys((*KEPT, *self.keep_environment, *secrets)))

    @property
    def image(self) -> str | None:
        """The job's image by the bytes that it means: NAME@sha256:DIGEST, FILE@sha256:HASH; None without one."""
        if self.kubernetes is not None:
            return self.kubernetes.image
        if self.container is None or self.container.image_sha256 is None:
            return self.container.image if self.container else None
        return f"{self.container.image}@sha256:{self.container.image_sha256}"

    @property
    def preflight_mode(self) -> Literal["block", "report", "off"]:
        """What the preflight does."""
        return self.preflight or ("off" if self.target == "local" else "block")

    @property
    def title(self) -> str:
        """`cluster profile NAME`, or `this machine`."""
        return "this machine" if self.name is None else f"cluster profile {self.name}"


THIS_MACHINE: Final = Profile(schema_version=1, name=None, target="local")
