"""The GPUs that a place's nodes hold."""

from pydantic import Field

from openrecipes.recipe.block import Block, Count, Text


class GpuSite(Block):
    """One kind of GPU for all nodes of a place; a place with two kinds has two profiles."""

    type: Text = Field(description="GPU type, by the catalogue's name: H100, H200, B200.")
    per_node: Count | None = Field(
        default=None, description="GPUs in one node; null holds no recipe to it. Unit: GPUs."
    )
