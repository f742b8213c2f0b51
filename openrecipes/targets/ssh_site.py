"""What a list of hosts that are reached by ssh must say once, for every recipe."""

from typing import Annotated

from pydantic import Field

from openrecipes.recipe.block import Block, Count, Text

# A first dash would be read as an option of ssh; a space would be another word of the remote shell.
Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._:@%-]*$", max_length=255)]
Folder = Annotated[str, Field(pattern=r"^/[A-Za-z0-9._/-]*$", max_length=60)]


class SshSite(Block):
    """Hosts in the order of preference; the first is the head, and a recipe of N nodes takes the first N."""

    hosts: tuple[Host, ...] = Field(description="Hosts as ssh names them, each once: a name, USER@NAME, an alias.")
    config: Text | None = Field(default=None, description="ssh configuration file; null takes the user's own.")
    options: tuple[Text, ...] = Field(default=(), description="Further ssh options, as Port=2222, each given with -o.")
    folder: Folder = Field(
        default="/tmp",  # noqa: S108  (a folder with an unguessable name is made below it, for its owner alone)
        description="Folder on each host below which a run has its own; short, and not on a network file system.",
    )
    connect_seconds: Count = Field(default=15, description="Longest wait for a connection. Unit: seconds.")
