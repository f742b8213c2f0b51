"""One run as evidence: its steps, its argument dump, its job, and the hashes that tie them to files."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from openrecipes.logs.run_log import RunLog, read_log
from openrecipes.logs.sources import chunks, damage, gives_once, log_files, opened
from openrecipes.logs.step import StepRecord
from openrecipes.problems import Place, Problem, UsageError
from openrecipes.runs.arrivals import Arrivals, Unfit, arrivals
from openrecipes.runs.directory import RunDirectory, run_directory_named
from openrecipes.runs.json_files import sha256_of
from openrecipes.runs.left_files import NO_CHANGES, Changes, changes_since
from openrecipes.runs.record import Job, RunRecord
from openrecipes.score.log_notes import NO_NOTES, LogNotes, log_notes

_MOST_SCRIPT_BYTES: Final = 2**20
# Formats whose trainers call their first step 1. Everything else, and a log of these with a step 0, counts from 0.
_FROM_ONE: Final = frozenset({"bridge", "megatron", "nemo-rl", "swift", "torchtitan", "verl"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What is known of one run.

    `first_number` is the trainer's number of its first step. `record` is None for a bare log; `job` is None there
    too, and where the launched script never started. `log_sha256` is over the log's bytes, decompressed where the
    file is, or over the `sha256  name` lines of several files. `log_changed`: the log changed while it was read.
    `arrivals` tell when the log's lines came; `arrivals_note` says why they do not, in a run that has them.
    """

    name: str
    steps: tuple[StepRecord, ...]
    first_number: int = 0
    format: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    log_problems: tuple[Problem, ...] = ()
    log_sha256: str | None = None
    log_changed: bool = False
    last_stamp_s: float | None = None
    record: RunRecord | None = None
    job: Job | None = None
    starts_from_random_weights: bool = False
    first_stamp_s: float | None = None
    notes: LogNotes = NO_NOTES
    changes: Changes = NO_CHANGES
    arrivals: Arrivals | None = None
    arrivals_note: str | None = None

    def number(self, step: StepRecord) -> int | None:
        """The step's number counted from 0, or None where the log gives it none."""
        return None if step.step is None else step.step - self.first_number

    @property
    def steps_read(self) -> int:
        """Different steps in the log."""
        return len({(step.step, step.line if step.step is None else 0) for step in self.steps})

    @property
    def measured(self) -> date | None:
        """Day of the run: of the job's start (UTC), else of the log's last stamp as printed."""
        stamp = self.job.start_unix_s if self.job else self.last_stamp_s
        if stamp is None or not 0 <= stamp < 1e11:
            return None
        return datetime.fromtimestamp(stamp, UTC).date()


def read_run(source: str) -> Run:
    """The run that a log file, a directory of one run's logs, or a run directory holds.

    Raises: UsageError if there is no such thing, it cannot be read, or its record does not fit.
    """
    refuse_once(source, "a score")
    files = tuple(Path(name) for name in log_files([source]))
    before = _state(files)
    contents = [_content(file) for file in files]
    log = read_log([source])
    sha256 = _sha256(files, Path(source), contents)
    lines = contents[0].line_feeds if len(contents) == 1 else 0
    return _run(source, log, sha256, lines, changed=_state(files) != before)


def refuse_once(source: str, what: str) -> None:
    """Nothing, unless the source is standard input or a pipe. Raises: UsageError, which says what needs more."""
    if gives_once(source):
        told = (
            f"{what} needs the log's hash, and {'standard input' if source == '-' else 'a pipe'} cannot be read twice"
        )
        mend = "save the log to a file and name that"
        raise UsageError(Problem(place=Place(file=source), rule="log-is-a-file", what=told, mend=mend))


def _run(source: str, log: RunLog, sha256: str, line_feeds: int, *, changed: bool) -> Run:
    directory = run_directory_named(source)
    came, note = _arrivals(directory, line_feeds)
    return Run(
        name=source,
        steps=log.steps,
        first_number=first_number(log),
        format=log.format,
        arguments=log.arguments,
        log_problems=log.problems,
        log_sha256=sha256,
        log_changed=changed,
        first_stamp_s=log.first_stamp_s,
        last_stamp_s=log.last_stamp_s,
        notes=log_notes([source]),
        changes=changes_since(directory, directory.record()) if directory else NO_CHANGES,
        arrivals=came,
        arrivals_note=note,
        record=directory.record() if directory else None,
        job=directory.job() if directory else None,
        starts_from_random_weights=directory is not None and directory.starts_from_random_weights(),
    )


def first_number(log: RunLog) -> int:
    """The number that the log's trainer gives its first step, 0 or 1."""
    return int(log.format in _FROM_ONE and all(step.step != 0 for step in log.steps))


def _arrivals(directory: RunDirectory | None, line_feeds: int) -> tuple[Arrivals | None, str | None]:
    """When the lines came of a log with so many line feeds; or why that is not known, where it should be."""
    if directory is None:
        return None, None
    try:
        came = arrivals(directory.arrivals)
    except Unfit as reason:
        return None, str(reason)
    if came is None:
        return None, "the launched script writes it, and it is not there" if _should_have_arrivals(directory) else None
    if came.lines > line_feeds:
        return None, f"it counts {came.lines} lines, and the log has {line_feeds}"
    return came, None


def _should_have_arrivals(directory: RunDirectory) -> bool:
    """Whether what was launched times the log's lines; launches before did not."""
    record, name = directory.record(), directory.arrivals.name.encode()
    scripts = (directory.root / file.path for file in record.rendered if file.path.endswith(".sh"))
    return any(script.is_file() and name in script.read_bytes()[:_MOST_SCRIPT_BYTES] for script in scripts)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Content:
    """What a log says, however it is packed: its hash, and its line feeds."""

    sha256: str
    line_feeds: int


def _sha256(files: tuple[Path, ...], source: Path, contents: Sequence[_Content]) -> str:
    if len(files) == 1:
        return contents[0].sha256
    lines = [
        f"{content.sha256}  {file.relative_to(source).as_posix()}\n"
        for file, content in zip(files, contents, strict=True)
    ]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def _content(file: Path) -> _Content:
    """The hash is of the file itself where it cannot be unpacked."""
    found, line_feeds = hashlib.sha256(), 0
    with opened(str(file)) as stream:
        try:
            for chunk in chunks(stream):
                found.update(chunk)
                line_feeds += chunk.count(b"\n")
        except Exception as error:
            if damage(error) is None:
                raise
            return _Content(sha256=sha256_of(file), line_feeds=0)
    return _Content(sha256=found.hexdigest(), line_feeds=line_feeds)


def _state(files: tuple[Path, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((stat.st_size, stat.st_mtime_ns) for stat in (file.stat() for file in files))
