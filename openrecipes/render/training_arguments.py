"""What a run trains on and how it learns: the SFT workload, and the published defaults as data."""

import shlex
from collections.abc import Container
from typing import Final

from openrecipes.recipe.model import Recipe
from openrecipes.render.argument import Argument, Line, line, variable

# A string is a line of the published command. What no field of a recipe holds; `arguments` goes over it.
PUBLISHED_DEFAULTS: Final = (
    "--data-pad-size-multiplier 256",
    "--optimizer adam --lr 1e-5 --lr-decay-style cosine --min-lr 1e-6",
    "--lr-warmup-fraction 0.1 --weight-decay 0.1 --adam-beta1 0.9 --adam-beta2 0.98",
    "--use-distributed-optimizer",
    "--use-precision-aware-optimizer",
    "--attention-dropout 0.0 --hidden-dropout 0.0",
    "--accumulate-allreduce-grads-in-fp32 --attention-softmax-in-fp32",
    "--attention-backend flash",
    "--distributed-timeout-minutes 30",
)
DEFAULT: Final = "published default"
SFT: Final = "workload.rows: SFT on packed rows"


def checkpoint_lines() -> tuple[Line, ...]:
    """Where the launch has put the model: its Hugging Face folder, and the Megatron checkpoint made from it."""
    return (
        variable("--hf-checkpoint", "HF_CKPT", origin="launch: path of the Hugging Face checkpoint"),
        variable("--ref-load", "TORCH_DIST", origin="launch: path of the torch_dist checkpoint"),
    )


def rows_lines() -> tuple[Line, ...]:
    """Where the rows lie, and their columns."""
    return (
        variable("--prompt-data", "SFT_DATA", origin="launch: path of the rows"),
        line("--input-key", "messages", origin=SFT),
        line("--metadata-key", "metadata", origin=SFT),
    )


def rollout_line() -> Line:
    """The function that hands the packed rows to the trainer."""
    return line("--rollout-function-path", "pretokenized_sft_rollout.generate_rollout", origin=SFT)


def batch_lines(recipe: Recipe) -> tuple[Line, ...]:
    """Steps and rows: one batch of rows for each optimizer step."""
    rows = str(recipe.workload.global_batch)
    return (
        line("--num-rollout", str(recipe.result.steps_per_run), origin="result.steps_per_run"),
        line("--rollout-batch-size", rows, origin="workload.global_batch"),
        line("--global-batch-size", rows, origin="workload.global_batch"),
    )


def loss_lines() -> tuple[Line, ...]:
    """Cross-entropy on the supervised tokens, each with the same weight."""
    return (line("--loss-type", "sft_loss", origin=SFT), line("--calculate-per-token-loss", origin=SFT))


def train_only_lines() -> tuple[Line, ...]:
    """No advantages, no inference engines."""
    return (
        line("--disable-compute-advantages-and-returns", origin=SFT),
        line("--debug-train-only", origin=SFT),
    )


def precision_lines(recipe: Recipe) -> tuple[Line, ...]:
    """BF16 needs no flag in slime, which sets it itself; FP8 as its low-precision scripts have it."""
    origin = "workload.precision"
    if recipe.workload.precision == "fp16":
        return (line("--fp16", origin=origin),)
    if recipe.workload.precision == "fp8":
        scaling = "slime convention: its FP8 scripts scale by blocks"
        return (
            line("--fp8-format", "e4m3", origin=origin),
            line("--fp8-recipe", "blockwise", origin=scaling),
        )
    return ()


def published_default(flag: str) -> str | None:
    """What the published default of a flag is: its value, or `on` for a bare flag; None if there is none."""
    arguments = (argument for found in default_lines() for argument in found.arguments)
    return next((" ".join(argument.values) or "on" for argument in arguments if argument.flag == flag), None)


def default_lines(*, known: Container[str] | None = None) -> tuple[Line, ...]:
    """The published defaults, or those that a trainer with only these flags knows."""
    lines = (_default_line(text, known) for text in PUBLISHED_DEFAULTS)
    return tuple(found for found in lines if found.arguments)


def _default_line(text: str, known: Container[str] | None) -> Line:
    words = shlex.split(text)
    starts = [index for index, word in enumerate(words) if word.startswith("--")]
    arguments = (
        Argument(flag=words[start], values=tuple(words[start + 1 : end]), origin=DEFAULT)
        for start, end in zip(starts, [*starts[1:], len(words)], strict=True)
    )
    return Line(arguments=tuple(argument for argument in arguments if known is None or argument.flag in known))
