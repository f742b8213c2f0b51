"""The smoke trainer's flags: those of slime that it has, and the device."""

from typing import Final

from openrecipes.catalog.gpus import find_gpu
from openrecipes.recipe.model import Recipe
from openrecipes.render.argument import Line, line, variable
from openrecipes.render.training_arguments import batch_lines, default_lines, loss_lines, rows_lines

# What launch/smoke_sft.py reads; a test compares.
SMOKE_FLAGS: Final = frozenset(
    {
        "--hf-checkpoint",
        "--prompt-data",
        "--input-key",
        "--metadata-key",
        "--num-rollout",
        "--rollout-batch-size",
        "--global-batch-size",
        "--micro-batch-size",
        "--seq-length",
        "--lr",
        "--min-lr",
        "--lr-decay-style",
        "--lr-warmup-fraction",
        "--weight-decay",
        "--adam-beta1",
        "--adam-beta2",
        "--clip-grad",
        "--loss-type",
        "--calculate-per-token-loss",
        "--seed",
        "--device",
    }
)


def smoke_lines(recipe: Recipe) -> tuple[Line, ...]:
    """All flags of the smoke trainer, in the order and grouping of the published form."""
    return (
        variable("--hf-checkpoint", "HF_CKPT", origin="launch: folder of the model's config.json"),
        *rows_lines(),
        line("--seq-length", str(recipe.workload.row_tokens), origin="workload.row_tokens"),
        *batch_lines(recipe),
        line("--micro-batch-size", str(recipe.layout.rows_per_microbatch), origin="layout.rows_per_microbatch"),
        *loss_lines(),
        *default_lines(known=SMOKE_FLAGS),
        line("--device", _device(recipe), origin="gpu.type"),
    )


def _device(recipe: Recipe) -> str:
    found = find_gpu(recipe.gpu.type)
    return "cpu" if found is not None and found.kind == "cpu" else "cuda"
