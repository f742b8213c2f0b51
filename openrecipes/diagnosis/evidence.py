"""Everything that tells how a run went: its steps, the signs in its logs, its record, its recipe."""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from openrecipes.diagnosis.findings import Finding, SignScanner, with_ranks
from openrecipes.logs.run_log import RunLog, read_log
from openrecipes.logs.sources import RUN_LOG, chunks, damage, gives_once, log_files, opened
from openrecipes.problems import Problem
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import read_recipe
from openrecipes.runs.directory import RunDirectory, run_directory_named
from openrecipes.runs.record import Job, RunRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class Success:
    """A line that claims success."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What is known of one run. `record` and `job` are those of a run directory, `recipe` its own or the caller's.

    The log's problems are only those of files that could not be read.
    """

    log: RunLog
    findings: tuple[Finding, ...]
    success: Success | None = None
    record: RunRecord | None = None
    job: Job | None = None
    recipe: Recipe | None = None
    has_random_checkpoint: bool = False

    @property
    def means_random_weights(self) -> bool:
        """Whether the recipe or the checkpoint says that the run starts from random weights."""
        recipe = self.recipe
        is_said = recipe is not None and (recipe.trainer == "smoke" or recipe.status == "smoke")
        is_said = is_said or (recipe is not None and recipe.result.weights == "random")
        return is_said or self.has_random_checkpoint


def read_evidence(sources: Sequence[str], recipe: Recipe | None = None) -> Evidence:
    """The evidence in log files, directories of one run's logs, a run directory, or standard input (`-`).

    Raises: UsageError for a file that cannot be read, ProblemsError for an unsound recipe in a run directory.
    """
    directory = one_run_directory(sources)
    record, job = (directory.record(), directory.job()) if directory else (None, None)
    with _readable(sources) as (names, spooled):
        has_log = record is None or (Path(names[0]) / RUN_LOG).is_file()
        log = read_log(names) if has_log else RunLog(format=None, steps=(), problems=())
        scanners = [_scanned(file) for file in log_files(names)] if has_log else []
    ranks = {pid: said for scanner in scanners for pid, said in scanner.said_ranks.items()}
    found = (finding for scanner in scanners for finding in scanner.findings)
    findings = (with_ranks(finding, ranks, log.arguments) for finding in found)
    steps = tuple(replace(step, file=spooled[step.file]) if step.file in spooled else step for step in log.steps)
    named = replace(log, steps=steps, files=tuple(spooled.get(file, file) for file in log.files))
    claims = [
        Success(file=spooled.get(s.file, s.file), line=s.succeeded[0], text=s.succeeded[1])
        for s in scanners
        if s.succeeded
    ]
    return Evidence(
        log=replace(named, problems=tuple(_unread(log.problems, spooled))),
        findings=tuple(replace(f, file=spooled.get(f.file, f.file)) for f in findings),
        success=claims[-1] if claims else None,
        record=record,
        job=job,
        recipe=recipe or (_recipe(directory) if directory else None),
        has_random_checkpoint=directory is not None and directory.starts_from_random_weights(),
    )


def one_run_directory(sources: Sequence[str]) -> RunDirectory | None:
    """The one run directory that is named; None where the sources are logs."""
    return run_directory_named(sources[0]) if len(sources) == 1 else None


def _recipe(directory: RunDirectory) -> Recipe | None:
    return read_recipe(directory.recipe).recipe if directory.recipe.is_file() else None


@contextmanager
def _readable(sources: Sequence[str]) -> Iterator[tuple[list[str], Mapping[str, str]]]:
    """The sources as files that can be read twice, and which of them stand for standard input or a pipe."""
    with ExitStack() as spools:
        spooled: dict[str, str] = {}
        for source in dict.fromkeys(filter(gives_once, sources)):
            spool = spools.enter_context(tempfile.NamedTemporaryFile(prefix="openrecipes-log-"))
            once = sys.stdin.buffer if source == "-" else spools.enter_context(Path(source).open("rb"))
            shutil.copyfileobj(once, spool)
            spool.flush()
            spooled[spool.name] = source
        at = {source: file for file, source in spooled.items()}
        yield [at.get(source, source) for source in sources], spooled


def _unread(problems: Sequence[Problem], spooled: Mapping[str, str]) -> Iterator[Problem]:
    """Why a file could not be read at all, or not to its end."""
    for problem in problems:
        if problem.rule in ("log-empty", "log-binary", "log-damaged"):
            place = replace(problem.place, file=spooled.get(problem.place.file, problem.place.file))
            yield replace(problem, place=place, severity="warning")


def _scanned(file: str) -> SignScanner:
    """Every sign of trouble in one file; of a damaged compressed one, those before the damage."""
    scanner = SignScanner(file=file)
    with opened(file) as stream:
        try:
            for chunk in chunks(stream):
                scanner.feed(chunk)
        except Exception as error:
            if damage(error) is None:
                raise
    scanner.close()
    return scanner
