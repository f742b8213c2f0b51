"""Relations between the batch, the rows and the layout."""

from collections.abc import Iterator

from openrecipes.layouts.relation import Broken, Case, relation


@relation("layout-global-batch", "dp x rows_per_microbatch divides global_batch.")
def global_batch(case: Case) -> Iterator[Broken]:
    """A batch that the ranks cannot share evenly."""
    layout, rows = case.layout, case.workload.global_batch
    group = layout.dp * layout.rows_per_microbatch
    if rows % group:
        yield Broken(
            key="workload.global_batch",
            what=f"{rows} rows do not divide by dp {layout.dp} x rows_per_microbatch {layout.rows_per_microbatch} "
            f"= {group}",
            mend=f"make global_batch a multiple of {group}, or change dp or rows_per_microbatch",
        )


@relation("layout-vpp-microbatches", "with vpp above 1, pp divides the microbatches of a step.")
def vpp_microbatches(case: Case) -> Iterator[Broken]:
    """Microbatches that the interleaved schedule cannot group."""
    layout, rows = case.layout, case.workload.global_batch
    group = layout.dp * layout.rows_per_microbatch
    if layout.vpp > 1 and rows % group == 0 and rows // group % layout.pp:
        yield Broken(
            key="layout.vpp",
            what=f"vpp {layout.vpp} interleaves groups of pp {layout.pp} microbatches, but each rank has "
            f"{rows} rows / (dp {layout.dp} x rows_per_microbatch {layout.rows_per_microbatch}) = {rows // group}",
            mend="set layout.vpp to 1, or change global_batch, dp or pp",
        )


@relation("layout-max-tokens", "max_tokens_per_gpu x cp holds rows_per_microbatch rows, and not one more.")
def max_tokens(case: Case) -> Iterator[Broken]:
    """A token limit under which microbatches hold another number of rows."""
    layout, row = case.layout, case.workload.row_tokens
    held = layout.max_tokens_per_gpu * layout.cp // row
    if held == layout.rows_per_microbatch:
        return
    needed = -(-layout.rows_per_microbatch * row // layout.cp)
    limit = f"{layout.max_tokens_per_gpu:,} tokens" + (f" x cp {layout.cp}" if layout.cp > 1 else "")
    holds = f"{held or 'no'} row{'' if held == 1 else 's'} of {row:,} tokens"
    yield Broken(
        key="layout.max_tokens_per_gpu",
        what=f"{limit} hold {holds}, but rows_per_microbatch is {layout.rows_per_microbatch}",
        mend=f"set layout.max_tokens_per_gpu to {needed}" + (f", or rows_per_microbatch to {held}" if held else ""),
    )


@relation("layout-cp-rows", "with cp above 1, 2 x cp divides row_tokens.")
def cp_rows(case: Case) -> Iterator[Broken]:
    """Rows that cannot be cut into the zigzag halves of context parallelism."""
    cp, row = case.layout.cp, case.workload.row_tokens
    if cp > 1 and row % (2 * cp):
        yield Broken(
            key="layout.cp",
            what=f"cp {cp} cuts a row into {2 * cp} pieces, but row_tokens {row} does not divide by that",
            mend=f"make row_tokens a multiple of {2 * cp}, or lower cp",
        )


@relation(
    "layout-cp-linear", "cp splits every layer; slime computes linear attention whole on each rank.", illegal=False
)
def cp_linear(case: Case) -> Iterator[Broken]:
    """Context parallelism that leaves most of a model's layers as they are."""
    cp = case.layout.cp
    mixers = [layer.mixer for layer in case.shape.layers] if case.shape and cp > 1 else []
    linear = mixers.count("linear_attention")
    if linear:
        yield Broken(
            key="layout.cp",
            what=f"cp {cp}, but {linear} of the model's {len(mixers)} layers are linear attention, "
            "which each rank computes over the whole row",
            mend="set layout.cp to 1, and save memory by tp, pp or recompute",
        )


@relation("layout-nodes", "the GPUs fill whole nodes, or one node holds them all.")
def nodes(case: Case) -> Iterator[Broken]:
    """A last node that would be partly filled."""
    count, per_node = case.gpu.count, case.gpu.per_node
    if count > per_node and count % per_node:
        yield Broken(
            key="gpu.count",
            what=f"{count} GPUs do not fill nodes of {per_node}",
            mend=f"make gpu.count a multiple of {per_node}",
        )


@relation("layout-tp-node", "tp stays within a node.", illegal=False)
def tp_node(case: Case) -> Iterator[Broken]:
    """Tensor parallelism over the network, which is legal and slow."""
    tp, per_node = case.layout.tp, case.gpu.per_node
    if tp > per_node:
        yield Broken(
            key="layout.tp",
            what=f"tp {tp} reaches over nodes of {per_node} GPUs, where each layer waits for the network",
            mend=f"keep tp at or below {per_node}",
        )
