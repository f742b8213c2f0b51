"""How a run is kept: its Ray, its secrets, and what counts as a run that hangs."""

from typing import Annotated

from pydantic import Field

from openrecipes.recipe.block import Block, Count, Positive, Text
from openrecipes.recipe.model import EnvironmentName

Port = Annotated[int, Field(ge=1024, le=65535)]
Interface = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@:-]*$", max_length=15)]


class Ray(Block):
    """Ray of a run: its own cluster, with its own ports and folder."""

    port: Port | None = Field(default=None, description="Port of the head; null takes a free one, found on the head.")
    worker_ports: tuple[Port, Port] | None = Field(
        default=None, description="First and last port of workers, where a firewall asks for it; null is Ray's own."
    )
    interface: Interface | None = Field(
        default=None, description="Network interface of Ray and of the bootstrap, as eth0; null is the hostname's own."
    )
    folder: Annotated[str, Field(pattern=r"^/[A-Za-z0-9._/-]*$", max_length=40)] = Field(
        default="/tmp",  # noqa: S108  (mktemp makes a folder below it)
        description="Folder on each node for Ray's files: short, since a socket's path holds 107 bytes, and local.",
    )
    cpus_per_node: Count | None = Field(default=None, description="CPUs that Ray counts; null takes those of the node.")
    object_store_gib: Positive | None = Field(
        default=None, description="Ray's object store on a node; null is Ray's own, 30% of memory. Unit: GiB."
    )


class Hang(Block):
    """When a run that takes no step any more is ended, its evidence kept."""

    medians: Positive = Field(default=10, description="A step so many medians late is none that is still to come.")
    at_least_seconds: Count = Field(default=300, description="But never before so long. Unit: seconds.")
    first_step_seconds: Count = Field(default=3600, description="Longest time to the first step. Unit: seconds.")
    after_error_seconds: Count = Field(
        default=600,
        description="Longest time without a step after a line of the log that tells of a death. Unit: seconds.",
    )


class Secret(Block):
    """Where a secret is found, and never what it is: exactly one of the two."""

    variable: EnvironmentName | None = Field(default=None, description="Variable of the launching environment.")
    file: Text | None = Field(default=None, description="File on each node that holds it, readable by its owner.")
