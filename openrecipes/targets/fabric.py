"""The network between a cluster's nodes as data, and which recipes it cannot carry."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from openrecipes.problems import Place, Problem
from openrecipes.recipe.block import Block, CountFromZero, Text
from openrecipes.recipe.model import EnvironmentName, Recipe
from openrecipes.targets.container import AbsolutePath


class Fabric(Block):
    """RDMA between nodes: EFA, InfiniBand or RoCE."""

    kind: Literal["efa", "infiniband", "roce", "none"] = Field(description="What connects the nodes.")
    devices_per_node: CountFromZero = Field(
        description="RDMA devices of a node: 32 on p5.48xlarge, 16 on p5en.48xlarge, 8 on p6-b200.48xlarge."
    )
    deepep_build: Text | None = Field(
        default=None,
        description="DeepEP build in the image that speaks between nodes on this fabric; null where none is known to.",
    )
    env: dict[EnvironmentName, str] = Field(
        default={}, description="Variables that the network needs; the recipe's own values of them win."
    )
    device_files: tuple[AbsolutePath, ...] = Field(
        default=(), description="Device files that a container must be given, as /dev/infiniband and /dev/gdrdrv."
    )


def fabric_refusals(recipe: Recipe, fabric: Fabric | None, title: str) -> Iterator[Problem]:
    """Why this network cannot carry the recipe: DeepEP between nodes needs IBGDA or mlx5, which EFA has not.

    Source: deepseek-ai/DeepEP issue 369, NVIDIA-NeMo/Megatron-Bridge issue 3343 (illegal instruction at iteration 0).
    """
    layout, per_node = recipe.layout, recipe.gpu.per_node
    if fabric is None or fabric.kind != "efa" or fabric.deepep_build is not None:
        return
    if layout.dispatcher == "flex" and layout.ep > per_node:
        yield Problem(
            place=Place(key="layout.dispatcher"),
            rule="fabric-deepep",
            what=f"flex (DeepEP) with ep {layout.ep} over nodes of {per_node} GPUs, and {title} connects nodes by EFA",
            mend=f"set layout.dispatcher to alltoall or layout.ep to {per_node} or less, or name the build that can "
            "in the profile's fabric.deepep_build",
        )
