"""What a run leaves as `run.json` and `job.json`: what was launched, how it ended, and what proves it."""

import datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from openrecipes.recipe.block import Block, Count, CountFromZero, Sha256, Text

Outcome = Literal["prepared", "running", "completed", "failed", "interrupted"]
UnixSeconds = Annotated[float, Field(ge=0, le=1e11)]


class FileHash(Block):
    """One file of the run, by its path in the run directory."""

    path: Text = Field(description="Path below the run directory, with forward slashes.")
    sha256: Sha256 = Field(description="sha256 of its bytes.")


class LaunchedRecipe(Block):
    """The recipe that the run started from."""

    file: Text = Field(description="The file as the caller named it.")
    sha256: Sha256 = Field(description="sha256 of that file's bytes when the run was prepared.")
    launched_sha256: Sha256 = Field(description="sha256 of recipe.yaml here: the recipe with the overrides in it.")


class RowsUsed(Block):
    """The SFT rows that the run trained on."""

    path: Text = Field(description="The parquet file: below the run directory, or a path of this machine.")
    rows: Count = Field(description="Rows in the file. Unit: rows.")
    row_tokens: Count = Field(description="Tokens in each row. Unit: tokens.")
    rows_sha256: Sha256 = Field(description="Hash of the rows' token ids and loss masks.")
    parquet_sha256: Sha256 = Field(description="sha256 of the parquet file's bytes.")


class RawLog(Block):
    """The raw log as it was when the run ended."""

    path: Text = Field(description="Path below the run directory.")
    sha256: Sha256 = Field(description="sha256 of its bytes.")
    size_bytes: CountFromZero = Field(description="Its size. Unit: bytes.")


class Job(Block):
    """`job.json`: written by the launched script itself, at its start and at its end."""

    schema_version: Literal[1] = Field(description="Version of this form.")
    start_unix_s: UnixSeconds = Field(description="When the script started. Unit: seconds since 1970, UTC.")
    end_unix_s: UnixSeconds | None = Field(description="When everything it started had ended; null while it runs.")
    exit_status: int | None = Field(description="Exit status of the trainer; null while it runs.")
    signal: Text | None = Field(description="Signal that stopped the script, as TERM; null if none did.")
    cause: Text | None = Field(default=None, description="Why it did not end with 0, as the launch itself knows it.")
    host: Text = Field(description="Host that the script ran on.")
    pid: Count = Field(description="Process id of the script on that host.")
    scheduler_id: Text | None = Field(default=None, description="The scheduler's id of the job; null without one.")

    @property
    def has_ended(self) -> bool:
        """Whether the script lived to write its end."""
        return self.end_unix_s is not None and self.exit_status is not None


class Submission(Block):
    """How a started job is found again, by whoever comes later."""

    kind: Literal["process", "slurm", "kubernetes"] = Field(description="What holds the job.")
    id: Text | None = Field(description="Its id there; null while it is being submitted. Of a process, its number.")
    name: Text | None = Field(default=None, description="Its name there, by which it is found without an id.")
    host: Text | None = Field(default=None, description="Host of the process, or namespace of the job.")
    cluster: Text | None = Field(
        default=None, description="Slurm's name of its cluster, or kubectl's context; null elsewhere."
    )
    command: tuple[Text, ...] = Field(default=(), description="The command that submitted it.")
    folder: Text | None = Field(
        default=None, description="Folder of its files there; null where they are written here."
    )
    ended_as: Text | None = Field(default=None, description="How the scheduler says that it ended, as COMPLETED.")


class RunRecord(Block):
    """`run.json`: one execution of a recipe."""

    schema_version: Literal[1] = Field(description="Version of this form.")
    name: Text = Field(description="Name of the run directory.")
    harness_version: Text = Field(description="Version of openrecipes that launched.")
    created: AwareDatetime = Field(description="When the run was prepared (UTC).")
    recipe: LaunchedRecipe = Field(description="The recipe that the run started from.")
    model: Text = Field(description="Model, by the catalogue's name.")
    gpu_type: Text = Field(description="GPU type as the recipe names it; CPU for ranks without one.")
    gpus: Count = Field(description="GPUs of the run; ranks where the type is CPU.")
    steps_wanted: Count = Field(description="Optimizer steps that the run was to take. Unit: steps.")
    target: Text = Field(description="Kind of place it was launched on: local, slurm, kubernetes, ssh.")
    cluster: Text | None = Field(description="Name of the cluster profile; null for this machine without one.")
    overrides: tuple[Text, ...] = Field(description="The caller's --set KEY=VALUE, in order.")
    deviations: tuple[Text, ...] = Field(description="Where the run differs from the recipe file, in words.")
    rendered: tuple[FileHash, ...] = Field(description="Every launched file.")
    render_sha256: Sha256 = Field(description="sha256 over the launched files: their sorted `sha256  path` lines.")
    submission: Submission | None = Field(default=None, description="The job; null before it is submitted.")
    rows: RowsUsed | None = Field(description="The rows trained on; null where they were not looked at.")
    outcome: Outcome = Field(description="How it ended: completed needs exit status 0 and every step in the log.")
    reason: Text | None = Field(description="Why it did not complete, in words.")
    job: Job | None = Field(description="What the script recorded; null if it never started.")
    log: RawLog | None = Field(description="The raw log; null until the run has ended.")
    steps_read: CountFromZero | None = Field(description="Steps found in the log; null until the run has ended.")
    left: tuple[FileHash, ...] = Field(
        default=(), description="What else the run left: environment, reports of nodes, telemetry; empty until its end."
    )

    @property
    def has_ended(self) -> bool:
        """Whether nothing of the run goes on any more."""
        return self.outcome in ("completed", "failed", "interrupted")


def utc_now() -> datetime.datetime:
    """This moment in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).replace(microsecond=0)
