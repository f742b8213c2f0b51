"""The container that a job runs in: its image, what it sees of the host, and which program enters it."""

from typing import Annotated, Literal

from pydantic import Field

from openrecipes.recipe.block import Block

AbsolutePath = Annotated[str, Field(pattern=r"^/[^\x00-\x1f]*$", max_length=4096)]
ImageName = Annotated[str, Field(pattern=r"^[^\s\x00-\x1f]+$", max_length=1024)]
ImageDigest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Mount(Block):
    """A folder or file of the host that the container sees."""

    source: AbsolutePath = Field(description="Path on the host.")
    target: AbsolutePath | None = Field(default=None, description="Path in the container; null for the same.")
    read_only: bool = Field(default=False, description="Mount without writing.")

    @property
    def inside(self) -> str:
        """Path in the container."""
        return self.target or self.source


class Container(Block):
    """An image by its digest, so that every node and every later run has the same one."""

    runtime: Literal["pyxis", "apptainer", "docker"] = Field(
        description="What starts it: pyxis (Slurm with Enroot), apptainer, docker."
    )
    image: ImageName = Field(
        description="An image file that every node sees (.sqsh, .sif), or NAME@sha256:DIGEST. A tag can move."
    )
    image_sha256: ImageDigest | None = Field(
        default=None, description="sha256 of an image file, compared before a launch; null where it has a digest."
    )
    mounts: tuple[Mount, ...] = Field(default=(), description="What the container sees of the host.")

    @property
    def is_file(self) -> bool:
        """Whether the image is a file."""
        return self.image.startswith("/")
