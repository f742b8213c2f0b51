"""Which files of a run directory belong into a bundle, and which members a bundle may hold of a run."""

import contextlib
import getpass
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from openrecipes.evidence.contents import ROWS_MANIFEST
from openrecipes.evidence.privacy import KnownWords
from openrecipes.problems import Place, Problem, ProblemsError, UsageError
from openrecipes.rows.manifest import manifest_path
from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.json_files import read_json
from openrecipes.runs.record import RunRecord
from openrecipes.stack.captured import Captured

NEEDED: Final = ("run.json", "job.json", "recipe.yaml", "environment.json", "steps.json", "log/train.log")
OPTIONAL: Final = (
    *("result.json", "cluster.yaml", "checkpoint.json", "preflight.json", ROWS_MANIFEST),
    "log/arrivals.jsonl",
)
TELEMETRY: Final = "telemetry"
RENDERED: Final = "rendered"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFile:
    """A file of a run: its name below the run's folder in the bundle, and where it lies."""

    name: str
    path: Path


def run_files(run: RunDirectory, record: RunRecord) -> tuple[RunFile, ...]:
    """Everything behind a run's result, by name.

    Raises: ProblemsError for what is missing, a link, or not the file that was launched.
    """
    found = [*_plain(run), *_rendered(run, record), *_telemetry(run), *_manifest(run, record)]
    problems = tuple(_problems(run, record, found))
    if problems:
        raise ProblemsError(*problems)
    return tuple(sorted(found, key=lambda file: file.name))


def known_words(runs: Sequence[tuple[RunDirectory, RunRecord]]) -> KnownWords:
    """Hosts of the runs and of this machine, and the user who packs."""
    hosts, users = {socket.gethostname()}, set()
    with contextlib.suppress(OSError, KeyError, ImportError):
        users.add(getpass.getuser())
    for run, record in runs:
        hosts |= {record.job.host} if record.job else set()
        if record.submission and record.submission.host:
            hosts.add(record.submission.host)
        hosts |= {path.stem for path in (run.root / TELEMETRY).glob("*.jsonl")}
        with contextlib.suppress(UsageError):
            hosts.add(read_json(run.environment, Captured, "captured environment").host)
    return KnownWords(hosts=frozenset(hosts), users=frozenset(users))


def _plain(run: RunDirectory) -> Iterator[RunFile]:
    for name in (*NEEDED, *OPTIONAL):
        if name in NEEDED or (run.root / name).exists():
            yield RunFile(name=name, path=run.root / name)


def _rendered(run: RunDirectory, record: RunRecord) -> Iterator[RunFile]:
    for file in record.rendered:
        yield RunFile(name=file.path, path=run.root / file.path)


def _telemetry(run: RunDirectory) -> Iterator[RunFile]:
    for path in sorted((run.root / TELEMETRY).glob("*.jsonl")):
        yield RunFile(name=f"{TELEMETRY}/{path.name}", path=path)


def _manifest(run: RunDirectory, record: RunRecord) -> Iterator[RunFile]:
    """The manifest beside the rows; rows that lie where only the nodes see them have none here."""
    path = manifest_path(run.root / record.rows.path) if record.rows else None
    if path is not None and path.is_file():
        yield RunFile(name=ROWS_MANIFEST, path=path)


def _problems(run: RunDirectory, record: RunRecord, found: Sequence[RunFile]) -> Iterator[Problem]:
    for file in found:
        if file.path.is_symlink():
            yield _problem(file.path, "is a link, and a bundle holds plain files", "put the file itself there")
        elif not file.path.is_file():
            yield _problem(file.path, "is not there, and belongs to the evidence", "name a run that ended on its own")
    for changed in run.changed_files(record.rendered):
        yield _problem(run.root / changed, "is not the file that was launched", "bundle a run whose files are whole")


def _problem(path: Path, what: str, mend: str) -> Problem:
    return Problem(place=Place(file=str(path)), rule="bundle-run", what=what, mend=mend)
