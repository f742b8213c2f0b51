"""What is kept of a checkpoint's preparation: its files, its job, its end; and one that goes on, found again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import AwareDatetime, Field

from openrecipes import __version__
from openrecipes.problems import Place, Problem, ProblemsError
from openrecipes.recipe.block import Block, Count, Sha256, Text
from openrecipes.runs.directory import RunDirectory, new_run_directory
from openrecipes.runs.json_files import read_json, write_atomically, write_json
from openrecipes.runs.outcome import outcome
from openrecipes.runs.record import FileHash, Job, Outcome, Submission, utc_now
from openrecipes.targets import job as jobs
from openrecipes.targets.checkpoint import Kind
from openrecipes.targets.checkpoint_node import REPORT
from openrecipes.targets.preparation import Preparation
from openrecipes.targets.profile_schema import profile_text
from openrecipes.targets.starting import found_again
from openrecipes.targets.submit import file_hashes, write_rendered

RECORD: Final = "preparation.json"
_REPORT_BYTES: Final = 2**20


class PreparationRecord(Block):
    """`preparation.json`: one preparation of a checkpoint."""

    schema_version: Literal[1] = Field(description="Version of this form.")
    name: Text = Field(description="Name of the directory.")
    harness_version: Text = Field(description="Version of openrecipes that submitted it.")
    created: AwareDatetime = Field(description="When its files were written (UTC).")
    recipe: Text = Field(description="The recipe, as the caller named its file.")
    model: Text = Field(description="Model, by the catalogue's name.")
    kind: Kind = Field(description="Where the weights are from.")
    checkpoint: Text = Field(description="Path of the checkpoint on the target.")
    target: Text = Field(description="Kind of place: local, slurm, kubernetes, ssh.")
    cluster: Text | None = Field(description="Name of the cluster profile; null for this machine without one.")
    nodes: Count = Field(description="Nodes that convert.")
    gpus_per_node: Count = Field(description="GPUs of each.")
    rendered: tuple[FileHash, ...] = Field(description="Every file of it.")
    render_sha256: Sha256 = Field(description="sha256 over the files: their sorted `sha256  path` lines.")
    submission: Submission | None = Field(default=None, description="The job; null before it is submitted.")
    outcome: Outcome = Field(description="How it ended.")
    reason: Text | None = Field(default=None, description="Why it did not complete, in words.")
    job: Job | None = Field(default=None, description="What the script recorded; null if it never started.")

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it goes on any more."""
        return self.outcome in ("completed", "failed", "interrupted")


class PreparationBook:
    """Keeps `preparation.json` true: every change is on disk before what it tells of goes on."""

    def __init__(self, run: RunDirectory, record: PreparationRecord) -> None:
        self.run = run
        self.record = record

    def note(self, **changes: object) -> PreparationRecord:
        """Changes fields of the record, on disk too."""
        self.record = self.record.model_copy(update=changes)
        write_json(self.run.root / RECORD, self.record)
        return self.record

    def ended(self, *, was_stopped: bool) -> PreparationRecord:
        """Records how it ended, from what its script wrote down."""
        job, submission = self.run.job(), self.record.submission
        ended, reason = outcome(
            job,
            steps_read=0,
            steps_wanted=0,
            was_stopped=was_stopped,
            ended_as=submission.ended_as if submission else None,
        )
        return self.note(outcome=ended, reason=reason, job=job)

    def report(self) -> dict[str, Any]:
        """What the programs on the first node found; empty where they never ran, or it did not come here."""
        try:
            with (self.run.root / REPORT).open("rb") as file:
                found = json.loads(file.read(_REPORT_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


def open_preparation(prepared: Preparation, parent: Path) -> PreparationBook:
    """The book of a new preparation, with the rendered files in a new directory below `parent`.

    Raises: UsageError if that cannot be made.
    """
    launch, rendered, created = prepared.ready.launch, prepared.ready.rendered, utc_now()
    run = new_run_directory(parent, f"{_stem(launch.model.name)}{created.strftime('%Y%m%dT%H%M%SZ')}")
    write_rendered(rendered, run.rendered)
    if launch.profile.name is not None:
        write_atomically(run.cluster, profile_text(launch.profile).encode())
    record = PreparationRecord(
        schema_version=1,
        name=run.root.name,
        harness_version=__version__,
        created=created,
        recipe=prepared.ready.launched.file,
        model=launch.model.name,
        kind=prepared.kind,
        checkpoint=prepared.checkpoint,
        target=prepared.ready.target.name,
        cluster=launch.profile.name,
        nodes=prepared.conversion.nodes,
        gpus_per_node=prepared.conversion.gpus_per_node,
        rendered=file_hashes(rendered, run),
        render_sha256=rendered.render_sha256,
        outcome="prepared",
    )
    book = PreparationBook(run, record)
    book.note()
    return book


def going_on(prepared: Preparation, parent: Path) -> tuple[PreparationBook, jobs.Job] | None:
    """The preparation of the same checkpoint below `parent` that has not ended, with its job; else None.

    One that ended while nobody looked is recorded so. Raises: OutsideError where a scheduler does not answer.
    """
    for book in _unfinished(prepared, parent):
        try:
            job = found_again(book.run, book.record, pods=book.record.nodes)
        except ProblemsError as error:
            rules = {problem.rule for problem in error.problems}
            if rules <= {"run-lost", "run-submitted"}:
                book.note(outcome="failed", reason="; ".join(problem.what for problem in error.problems))
            elif rules != {"run-found"}:  # of another machine: the claim on the folder says whether it lives
                raise
            continue
        if job.state().phase != "ended":
            return book, job
        job.clean_up()
        book.note(submission=job.submission)
        book.ended(was_stopped=False)
    return None


def refuse_going(book: PreparationBook) -> None:
    """Always raises: of two preparations of one checkpoint, the second is refused."""
    submission = book.record.submission
    job = f"{submission.kind} {submission.id or submission.name}" if submission else "not yet submitted"
    what = f"{book.record.checkpoint} is being prepared already, as {job}"
    mend = f"follow it with the same command and --attach; its log is {book.run.log}"
    raise ProblemsError(Problem(place=Place(file=str(book.run.root)), rule="checkpoint-going", what=what, mend=mend))


def _stem(model: str) -> str:
    return f"checkpoint-{model.lower()}-"


def _unfinished(prepared: Preparation, parent: Path) -> Iterator[PreparationBook]:
    """Records of the same checkpoint in the same place that say nothing of an end, the newest first."""
    launch = prepared.ready.launch
    folders = sorted(parent.glob(f"{_stem(launch.model.name)}*"), reverse=True) if parent.is_dir() else []
    for root in folders:
        if not (root / RECORD).is_file():
            continue
        record = read_json(root / RECORD, PreparationRecord, "record of a preparation")
        is_same = (record.checkpoint, record.cluster) == (prepared.checkpoint, launch.profile.name)
        if is_same and not record.has_ended:
            yield PreparationBook(RunDirectory(root=root.resolve()), record)
