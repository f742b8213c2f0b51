"""What was measured."""

import datetime
from typing import Literal

from pydantic import Field

from openrecipes.recipe.block import Block, Count, CountFromZero, FromZero, Positive, Sha256, Text


class ActiveParams(Block):
    """N of the MFU formula, and where the model's shape was read."""

    count: Count = Field(description="Weights of two or more dimensions that one token uses. Unit: parameters.")
    source: Text | None = Field(description="Where the model's configuration was read.")
    revision: Text | None = Field(description="Revision of that source.")


class Result(Block):
    """Figures of the steady window. All null in a draft but steps_per_run and window."""

    tokens_per_s_per_gpu: Positive | None = Field(
        description="Window tokens / sum of the window's step times / GPUs. Unit: tokens/s/GPU."
    )
    usd_per_million_tokens: Positive | None = Field(
        description="Instance price / GPUs an instance / 3600 / tokens_per_s_per_gpu x 1e6. Unit: US dollars."
    )
    step_time_cv_percent: FromZero | None = Field(
        description="100 x sample standard deviation (n - 1) / mean of the window's step times. Unit: percent.",
    )
    mfu: Positive | None = Field(
        description="6 x active_params x tokens_per_s_per_gpu / dense BF16 peak of the GPU. A fraction."
    )
    mfu_note: Text | None = Field(description="Why mfu is null, or what is particular about it.")
    active_params: ActiveParams = Field(description="Active parameters a token.")
    measured: datetime.date | None = Field(description="Day of the measured run (UTC).")
    steps_per_run: Count = Field(description="Optimizer steps of a run, warm-up included. Unit: steps.")
    window: tuple[CountFromZero, CountFromZero] = Field(
        description="First and last scored step, counted from 0, both scored."
    )
    window_tokens: Count | None = Field(description="Steps in the window x global_batch x row_tokens. Unit: tokens.")
    runs: Count | None = Field(description="Runs behind the figures.")
    profiler: bool | None = Field(description="Whether a profiler ran inside the window.")
    gpu_hours: Positive | None = Field(description="GPUs x (job end - job start), start-up included. Unit: GPU-hours.")
    gpu_hours_note: Text | None = Field(description="How gpu_hours was taken, or why it is null.")
    rule: Text | None = Field(default=None, description="Window rule, by name and version: `skip-quarter/1`.")
    timer: Text | None = Field(default=None, description="The time scored: `step_time` is wait + train.")
    token_definition: Text | None = Field(
        default=None,
        description="What a token is: `row-tokens/1` counts every token of every row, padding included.",
    )
    steps_read: CountFromZero | None = Field(default=None, description="Steps found in the log. Unit: steps.")
    log_sha256: Sha256 | None = Field(default=None, description="sha256 of the raw log that was scored.")
    render_sha256: Sha256 | None = Field(default=None, description="sha256 over the files that were launched.")
    confidence_interval: tuple[Positive, Positive] | None = Field(
        default=None, description="95 % interval of tokens_per_s_per_gpu. Unit: tokens/s/GPU."
    )
    unsteady: bool | None = Field(
        default=None, description="Whether the window breaks the rule's limits for a steady state."
    )
    weights: Literal["random"] | None = Field(
        default=None, description="`random` where the run started from random weights."
    )
    deviations: tuple[Text, ...] | None = Field(
        default=None,
        description="Where the run differed from the recipe: overrides of the site or the caller.",
    )
