"""Rules over the rows: what was built against what the run needs."""

from collections.abc import Iterator

from openrecipes.check.rule import Finding, Section, rule
from openrecipes.check.subject import Subject
from openrecipes.units import thousands


@rule("data-row-tokens", Section.DATA, "the rows were built as long as the workload says.")
def row_tokens(subject: Subject) -> Iterator[Finding]:
    """Rows of another length."""
    built, run = subject.recipe.workload.dataset.build.row_tokens, subject.recipe.workload.row_tokens
    if built != run:
        yield Finding(
            key="workload.dataset.build.row_tokens",
            what=f"rows were built with {built} tokens, but workload.row_tokens is {run}",
            mend=f"build rows of {run} tokens, or set workload.row_tokens to {built}",
        )


@rule("data-rows", Section.DATA, "the rows built last for steps_per_run x global_batch.")
def rows(subject: Subject) -> Iterator[Finding]:
    """A run that would run out of rows, or start over."""
    workload, steps = subject.recipe.workload, subject.recipe.result.steps_per_run
    needed, built = steps * workload.global_batch, workload.dataset.build.rows
    if needed > built:
        yield Finding(
            key="workload.dataset.build.rows",
            what=f"{thousands(built)} rows, but {steps} steps x global_batch {workload.global_batch} "
            f"need {thousands(needed)}",
            mend=f"build at least {needed} rows, or lower steps_per_run to {built // workload.global_batch}",
        )


@rule("data-loss-mask", Section.DATA, "a Qwen3.5 model's rows carry the loss mask qwen3_5.")
def loss_mask(subject: Subject) -> Iterator[Finding]:
    """A mask of another chat template, which supervises other tokens."""
    mask, found = subject.recipe.workload.dataset.build.loss_mask, subject.model
    if found is not None and found.model_type.startswith("qwen3_5") and mask != "qwen3_5":
        yield Finding(
            key="workload.dataset.build.loss_mask",
            what=f"{mask}, but {found.name} has the chat template of qwen3_5",
            mend="build the rows with loss_mask qwen3_5",
        )


@rule("data-padding", Section.DATA, "padding is less than the file holds.")
def padding(subject: Subject) -> Iterator[Finding]:
    """More padding than tokens."""
    build = subject.recipe.workload.dataset.build
    tokens = build.rows * build.row_tokens
    if build.padding_tokens >= tokens:
        yield Finding(
            key="workload.dataset.build.padding_tokens",
            what=f"{thousands(build.padding_tokens)} padding tokens, but {thousands(build.rows)} rows x "
            f"{build.row_tokens} hold {thousands(tokens)} tokens in all",
            mend="write the padding tokens that the manifest counts",
        )


@rule("data-pinned", Section.DATA, "a measured result names the rows that it ate by their hash.", "warning")
def pinned(subject: Subject) -> Iterator[Finding]:
    """Rows that nobody can show to be the same."""
    if subject.recipe.status in ("verified", "measured") and subject.recipe.workload.dataset.rows_sha256 is None:
        yield Finding(
            key="workload.dataset.rows_sha256",
            what=f"null, but status is {subject.recipe.status}: nobody can tell which rows the run ate",
            mend="write the rows_sha256 of the manifest",
        )
