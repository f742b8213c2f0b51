"""How the model and the batch are spread over the GPUs."""

from typing import Literal

from pydantic import Field

from openrecipes.recipe.block import Block, Count, Degree, Text


class Recompute(Block):
    """Activation recomputation, in Megatron's terms."""

    granularity: Literal["full", "selective"] = Field(description="Whole layers, or chosen parts of each layer.")
    method: Literal["uniform", "block"] | None = Field(
        description="full: every layer in groups (uniform), or the first layers of each stage (block). selective: null."
    )
    num_layers: Count | None = Field(
        description="full: layers a group (uniform), or recomputed layers a stage (block). selective: null."
    )
    modules: tuple[Text, ...] | None = Field(
        default=None,
        description="selective: the parts recomputed (--recompute-modules), core_attn if absent.",
    )


class Layout(Block):
    """The parallel layout: degrees, microbatches, recomputation, dispatch."""

    label: Text = Field(description="The layout in one line: `TP2 PP4 EP32 DP16`.")
    summary: Text = Field(description="The layout in one sentence, every choice that matters for speed named.")
    highlights: Text | None = Field(description="What sets this layout apart, for the board.")
    tp: Degree = Field(description="Tensor parallel degree.")
    pp: Degree = Field(description="Pipeline parallel degree: number of stages.")
    vpp: Degree = Field(description="Virtual pipeline degree: model chunks a stage; 1 is no interleaving.")
    cp: Degree = Field(description="Context parallel degree.")
    ep: Degree = Field(description="Expert parallel degree.")
    etp: Degree = Field(description="Expert tensor parallel degree.")
    dp: Degree = Field(description="Data parallel degree: GPUs / (tp x pp x cp).")
    sequence_parallel: bool = Field(description="Whether activations are split over the tp group between layers.")
    layer_split: tuple[Count, ...] | None = Field(
        description="Layers of each pipeline stage, first to last, where uneven; null is an even split."
    )
    max_tokens_per_gpu: Count = Field(description="Most tokens a microbatch holds on one GPU. Unit: tokens.")
    rows_per_microbatch: Count = Field(description="Rows in a microbatch. Unit: rows.")
    recompute: Recompute | None = Field(description="Activation recomputation; null is none.")
    offload: Literal["optimizer", "activations"] | None = Field(
        description="What is kept in host memory; null is nothing."
    )
    dispatcher: Literal["alltoall", "allgather", "flex"] | None = Field(
        description="MoE token dispatcher; flex is DeepEP's; null for a dense model."
    )
