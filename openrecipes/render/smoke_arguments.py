"""The smoke trainer's flags: those of slime that it has, and the device."""

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal

from openrecipes.catalog.arguments import Argument, Parser, ValueKind
from openrecipes.catalog.gpus import find_gpu
from openrecipes.recipe.model import Recipe
from openrecipes.render.argument import Line, line, variable
from openrecipes.render.training_arguments import batch_lines, default_lines, loss_lines, rows_lines

# What launch/smoke_sft.py reads, and as what; a test compares.
SMOKE_FLAGS: Final[Mapping[str, ValueKind | Literal["switch"] | tuple[str, ...]]] = {
    "--hf-checkpoint": "text",
    "--prompt-data": "text",
    "--input-key": "text",
    "--metadata-key": "text",
    "--num-rollout": "int",
    "--rollout-batch-size": "int",
    "--global-batch-size": "int",
    "--micro-batch-size": "int",
    "--seq-length": "int",
    "--lr": "float",
    "--min-lr": "float",
    "--lr-decay-style": ("constant", "linear", "cosine"),
    "--lr-warmup-fraction": "float",
    "--weight-decay": "float",
    "--adam-beta1": "float",
    "--adam-beta2": "float",
    "--clip-grad": "float",
    "--loss-type": ("sft_loss",),
    "--calculate-per-token-loss": "switch",
    "--seed": "int",
    "--device": ("cpu", "cuda"),
}


@cache
def smoke_parser() -> Parser:
    """The smoke trainer's flags as data."""
    return Parser(by_flag={flag: _argument(flag) for flag in SMOKE_FLAGS}, drops_unknown=False)


def _argument(flag: str) -> Argument:
    kind = SMOKE_FLAGS[flag]
    return Argument(
        flags=(flag,),
        dest=flag.removeprefix("--").replace("-", "_"),
        action="store_true" if kind == "switch" else "store",
        value="enum" if isinstance(kind, tuple) else None if kind == "switch" else kind,
        choices=kind if isinstance(kind, tuple) else None,
        defined_by="smoke",
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
        *default_lines(known=SMOKE_FLAGS.keys()),
        line("--device", _device(recipe), origin="gpu.type"),
    )


def _device(recipe: Recipe) -> str:
    found = find_gpu(recipe.gpu.type)
    return "cpu" if found is not None and found.kind == "cpu" else "cuda"
