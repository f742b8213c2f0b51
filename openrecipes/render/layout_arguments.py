"""GPUs and parallel layout as flags."""

from openrecipes.layouts.degrees import nodes
from openrecipes.recipe.model import Recipe
from openrecipes.render.argument import Line, line

SLIME_GPUS_PER_NODE = 8  # what --num-gpus-per-node is where it is not given


def gpu_lines(recipe: Recipe) -> tuple[Line, ...]:
    """Nodes, and GPUs in each."""
    gpu = recipe.gpu
    per_node = min(gpu.count, gpu.per_node)
    key = "gpu.per_node" if per_node == gpu.per_node else "gpu.count"
    lines = (
        line("--actor-num-nodes", str(nodes(gpu.count, gpu.per_node)), origin="gpu.count / gpu.per_node"),
        line("--actor-num-gpus-per-node", str(per_node), origin=key),
    )
    if per_node == SLIME_GPUS_PER_NODE:
        return lines
    return (*lines, line("--num-gpus-per-node", str(per_node), origin=key))


def degree_lines(recipe: Recipe) -> tuple[Line, ...]:
    """How the model is split, in the order of the published command."""
    layout = recipe.layout
    return (
        line("--tensor-model-parallel-size", str(layout.tp), origin="layout.tp"),
        line("--pipeline-model-parallel-size", str(layout.pp), origin="layout.pp"),
        *_stage_lines(recipe),
        line("--context-parallel-size", str(layout.cp), origin="layout.cp"),
        line("--expert-model-parallel-size", str(layout.ep), origin="layout.ep"),
        line("--expert-tensor-parallel-size", str(layout.etp), origin="layout.etp"),
        *((line("--sequence-parallel", origin="layout.sequence_parallel"),) if layout.sequence_parallel else ()),
    )


def _stage_lines(recipe: Recipe) -> tuple[Line, ...]:
    """Interleaving, and stages that differ: Megatron-LM can set only the first and the last apart."""
    layout, lines = recipe.layout, []
    if layout.vpp > 1:
        # Unlike --num-layers-per-virtual-pipeline-stage this one may stand beside an uneven split.
        lines.append(line("--num-virtual-stages-per-pipeline-rank", str(layout.vpp), origin="layout.vpp"))
    split = layout.layer_split
    if split is None or len(set(split)) == 1:
        return tuple(lines)
    between = split[1]  # of two stages the second is what the first leaves
    if split[0] != between:
        lines.append(line("--decoder-first-pipeline-num-layers", str(split[0]), origin="layout.layer_split"))
    if split[-1] != between:
        lines.append(line("--decoder-last-pipeline-num-layers", str(split[-1]), origin="layout.layer_split"))
    return tuple(lines)


def memory_lines(recipe: Recipe) -> tuple[Line, ...]:
    """Recomputation, and what lies in host memory."""
    return (*_recompute_lines(recipe), *_offload_lines(recipe))


def _recompute_lines(recipe: Recipe) -> tuple[Line, ...]:
    recompute = recipe.layout.recompute
    if recompute is None:
        return ()
    key = "layout.recompute"
    lines = [line("--recompute-granularity", recompute.granularity, origin=f"{key}.granularity")]
    if recompute.method is not None:
        lines.append(line("--recompute-method", recompute.method, origin=f"{key}.method"))
    if recompute.num_layers is not None:
        lines.append(line("--recompute-num-layers", str(recompute.num_layers), origin=f"{key}.num_layers"))
    if recompute.modules is not None:
        lines.append(line("--recompute-modules", *recompute.modules, origin=f"{key}.modules"))
    return tuple(lines)


def _offload_lines(recipe: Recipe) -> tuple[Line, ...]:
    if recipe.layout.offload == "optimizer":
        overlap = "slime convention: its scripts overlap the copies with the step"
        return (
            line("--optimizer-cpu-offload", origin="layout.offload"),
            line("--overlap-cpu-optimizer-d2h-h2d", origin=overlap),
        )
    if recipe.layout.offload == "activations":
        return (line("--fine-grained-activation-offloading", origin="layout.offload"),)
    return ()


def microbatch_lines(recipe: Recipe) -> tuple[Line, ...]:
    """Microbatches are filled with whole rows up to the token limit; so the limit says how many rows."""
    limit = str(recipe.layout.max_tokens_per_gpu)
    return (
        line("--use-dynamic-batch-size", origin="layout.max_tokens_per_gpu"),
        line("--max-tokens-per-gpu", limit, origin="layout.max_tokens_per_gpu"),
    )
