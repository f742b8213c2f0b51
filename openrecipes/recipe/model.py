"""A recipe: one training run that others can repeat, as one file says it."""

from typing import Annotated, Literal

from pydantic import Field

from openrecipes.recipe.block import Block, Count, Positive, Text
from openrecipes.recipe.correctness import Correctness
from openrecipes.recipe.layout import Layout
from openrecipes.recipe.result import Result
from openrecipes.recipe.workload import Workload

Status = Literal["verified", "measured", "smoke", "draft"]
Trainer = Literal["slime", "smoke"]
ArgumentValue = bool | int | float | str | None | tuple[int | float | str, ...]
EnvironmentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
FlagName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]


class Gpus(Block):
    """The GPUs of the run."""

    type: Text = Field(description="GPU type, by the catalogue's name: H100, H200, B200; CPU for the smoke trainer.")
    memory_gb: Positive | None = Field(
        description="Memory of one GPU as marketed (10^9 bytes); null where there is no GPU. Unit: GB."
    )
    count: Count = Field(description="GPUs of the whole run (ranks, for CPU).")
    per_node: Count = Field(description="GPUs in one node.")
    instance: Text | None = Field(description="Cloud and instance type that the price is for; null if none.")


class Author(Block):
    """Who measured."""

    name: Text = Field(description="Author as shown on the board.")
    url: Text | None = Field(description="Page of the author or the paper.")


class Stack(Block):
    """Versions of what ran, as loaded in the job. Null where a part was not there."""

    framework: Text | None = Field(description="Training framework, version and commit.")
    megatron_lm: Text | None = Field(description="Megatron-LM commit and what was patched on top.")
    transformer_engine: Text | None = Field(description="Transformer Engine version.")
    pytorch: Text | None = Field(description="PyTorch version and build.")
    cuda: Text | None = Field(description="CUDA version of the build.")
    nccl: Text | None = Field(description="NCCL version as loaded.")
    deepep: Text | None = Field(description="DeepEP version or commit.")
    python: Text | None = Field(description="Python version.")
    network: Text | None = Field(description="Network between the GPUs and between the nodes.")
    source: Text | None = Field(description="How these versions were taken.")
    transformers: Text | None = Field(default=None, description="transformers version.")
    driver: Text | None = Field(default=None, description="GPU driver version.")
    cudnn: Text | None = Field(default=None, description="cuDNN version as loaded.")
    flash_attention: Text | None = Field(default=None, description="FlashAttention version as loaded.")
    aws_ofi_nccl: Text | None = Field(default=None, description="Version of the aws-ofi-nccl plug-in of NCCL.")
    efa: Text | None = Field(default=None, description="EFA kernel driver and installer.")
    libfabric: Text | None = Field(default=None, description="libfabric version.")
    gpu_settings: Text | None = Field(
        default=None, description="What the GPUs were set to: power limit, clocks, ECC, MIG, NVLinks."
    )
    image: Text | None = Field(default=None, description="Container image, with its digest.")
    os: Text | None = Field(default=None, description="Operating system that the trainer ran in.")
    kernel: Text | None = Field(default=None, description="Kernel and its release.")


class Recipe(Block):
    """One recipe, as its file says it. Holds no fact about GPUs or prices and computes no figure."""

    schema_version: Literal[1] = Field(description="Version of this schema.")
    model: Text = Field(description="Model, by the catalogue's name.")
    gpu: Gpus = Field(description="The GPUs.")
    author: Author = Field(description="Who measured.")
    status: Status = Field(
        description="The author's claim: verified (correctness evidence), measured, smoke (a test of the harness, "
        "never ranked), draft (not measured). What it is worth is computed."
    )
    trainer: Trainer = Field(default="slime", description="Trainer that the command starts.")
    stack: Stack = Field(description="Versions of what ran.")
    workload: Workload = Field(description="What is trained on.")
    layout: Layout = Field(description="How it is spread over the GPUs.")
    arguments: dict[FlagName, ArgumentValue] | None = Field(
        default=None,
        description="Trainer flags (without dashes) over the published defaults: true is the bare flag, "
        "false and null leave a default out.",
    )
    result: Result = Field(description="What was measured.")
    correctness: Correctness | None = Field(description="Correctness evidence; null in a draft.")
    env: dict[EnvironmentName, str] = Field(
        description="Environment variables; a value with $(...) is evaluated on the node that runs it."
    )
    patches: tuple[Text, ...] = Field(description="Patches over the commits that stack names.")
    run: str = Field(max_length=200_000, description="The command as published. The harness derives its own.")
