"""The run record as the run goes on: prepared, running, ended."""

import hashlib
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from openrecipes import __version__
from openrecipes.diagnosis.diagnose import diagnose
from openrecipes.logs.run_log import RunLog, read_log
from openrecipes.problems import ProblemsError
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.json_files import write_atomically, write_json
from openrecipes.runs.left_files import left_files
from openrecipes.runs.outcome import outcome
from openrecipes.runs.record import LaunchedRecipe, Outcome, RunRecord, utc_now
from openrecipes.targets.profile_schema import profile_text
from openrecipes.targets.rendering import Prepared
from openrecipes.targets.submit import file_hashes, write_rendered

# What a launch writes before its own reason for an end, which the reason in words holds already.
_OWN_WORDS: Final = "openrecipes: cause: "


class RunBook:
    """Keeps `run.json` true: every change is on disk before what it tells of goes on."""

    def __init__(self, run: RunDirectory, record: RunRecord) -> None:
        self.run = run
        self.record = record
        run.write_record(record)

    def note(self, **changes: object) -> RunRecord:
        """Changes fields of the record, on disk too."""
        self.record = self.record.model_copy(update=changes)
        self.run.write_record(self.record)
        return self.record

    def ended(self, *, was_stopped: bool) -> RunLog:
        """Reads what the run left, and records how it ended; `steps.json` is written on the way."""
        self.run.log.touch()  # a job that never started left none
        job, log = self.run.job(), read_log([self.run.log])
        documents = [step.document() for step in log.steps]
        problems = [problem.document() for problem in log.problems]
        write_json(self.run.steps, {"format": log.format, "steps": documents, "problems": problems})
        timed = {step.step for step in log.steps if step.step_time_s is not None}
        wanted = self.record.steps_wanted
        submission = self.record.submission
        ended, reason = outcome(
            job,
            steps_read=len(timed),
            steps_wanted=wanted,
            was_stopped=was_stopped,
            ended_as=submission.ended_as if submission else None,
        )
        raw, left = self.run.raw_log(), left_files(self.run)
        self.note(outcome=ended, reason=reason, job=job, log=raw, steps_read=len(timed), left=left)
        if ended == "failed":
            self.note(reason=self._with_cause(reason))
        return log

    def _with_cause(self, reason: str | None) -> str | None:
        """The reason with the first cause that the log shows, and the rank it hit."""
        cause = diagnose([str(self.run.root)]).cause
        if cause is None:
            return reason
        rank = f" of rank {cause.origin.rank}" if cause.origin.rank is not None else ""
        is_told = reason is not None and cause.text.removeprefix(_OWN_WORDS) in reason
        said = "" if is_told else ": " + textwrap.shorten(cause.text, 200, placeholder=" …")
        return f"{reason}; {cause.name}{rank}{said}"

    @contextmanager
    def kept_true(self) -> Iterator[None]:
        """Records an error or an interruption that ends the block before the run itself has ended."""
        try:
            yield
        except BaseException as error:
            if not self.record.has_ended:
                self.note(outcome=_outcome_of(error), reason=_reason_of(error), job=self.run.job())
            raise


def open_book(run: RunDirectory, prepared: Prepared, original: LocatedRecipe, settings: Sequence[str]) -> RunBook:
    """The book of a new run, with the recipe and the rendered files in its directory."""
    recipe, launched = prepared.launch.recipe, prepared.launched.text.encode()
    write_atomically(run.recipe, launched)
    write_rendered(prepared.rendered, run.rendered)
    if prepared.launch.profile.name is not None:
        write_atomically(run.cluster, profile_text(prepared.launch.profile).encode())
    used = LaunchedRecipe(
        file=original.file,
        sha256=hashlib.sha256(original.text.encode()).hexdigest(),
        launched_sha256=hashlib.sha256(launched).hexdigest(),
    )
    record = RunRecord(
        schema_version=1,
        name=run.root.name,
        harness_version=__version__,
        created=utc_now(),
        recipe=used,
        model=recipe.model,
        gpu_type=recipe.gpu.type,
        gpus=recipe.gpu.count,
        steps_wanted=recipe.result.steps_per_run,
        target=prepared.target.name,
        cluster=prepared.launch.profile.name,
        overrides=tuple(settings),
        deviations=prepared.deviations,
        rendered=file_hashes(prepared.rendered, run),
        render_sha256=prepared.rendered.render_sha256,
        rows=None,
        outcome="prepared",
        reason=None,
        job=None,
        log=None,
        steps_read=None,
    )
    return RunBook(run, record)


def _outcome_of(error: BaseException) -> Outcome:
    return "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"


def _reason_of(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "stopped by the caller before the launch"
    if isinstance(error, ProblemsError):
        return "; ".join(problem.what for problem in error.problems)
    return f"a bug in the harness: {type(error).__name__}: {error}"
