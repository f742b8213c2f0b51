"""A run's directory: made once, never reused or overwritten; and what lies where in it."""

import datetime
import json
from dataclasses import dataclass
from pathlib import Path

from openrecipes.problems import Place, Problem, UsageError, unreadable
from openrecipes.runs.json_files import read_json, sha256_of, write_json
from openrecipes.runs.record import FileHash, Job, RawLog, RunRecord

RECORD = "run.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunDirectory:
    """The files of one run. Which of them exist tells how far it came."""

    root: Path

    @property
    def recipe(self) -> Path:
        """The recipe as launched, overrides included."""
        return self.root / "recipe.yaml"

    @property
    def cluster(self) -> Path:
        """The cluster profile as launched; none where the place has no name. Its secrets are references."""
        return self.root / "cluster.yaml"

    @property
    def rendered(self) -> Path:
        """Folder of the launched files."""
        return self.root / "rendered"

    @property
    def record_file(self) -> Path:
        """The run record."""
        return self.root / RECORD

    @property
    def job_file(self) -> Path:
        """Start, end and exit status, from the launched script itself."""
        return self.root / "job.json"

    @property
    def environment(self) -> Path:
        """What was installed and loaded, captured inside the job."""
        return self.root / "environment.json"

    @property
    def rows(self) -> Path:
        """The SFT rows, where they were built for this run."""
        return self.root / "data" / "rows.parquet"

    @property
    def log(self) -> Path:
        """The raw log: all output of everything the script started."""
        return self.root / "log" / "train.log"

    @property
    def arrivals(self) -> Path:
        """When the log's lines came, by the launched script's clock."""
        return self.log.with_name("arrivals.jsonl")

    @property
    def checkpoint(self) -> Path:
        """What the checkpoint that the run started from says of itself, where it says anything."""
        return self.root / "checkpoint.json"

    @property
    def steps(self) -> Path:
        """The step records read from the log."""
        return self.root / "steps.json"

    @property
    def result(self) -> Path:
        """The result block with all digits; only where the run completed and its window holds."""
        return self.root / "result.json"

    @property
    def recipe_with_result(self) -> Path:
        """A copy of the recipe with the result in it."""
        return self.root / "recipe-with-result.yaml"

    def starts_from_random_weights(self) -> bool:
        """Whether the checkpoint says that its weights are random."""
        try:
            said = json.loads(self.checkpoint.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return isinstance(said, dict) and said.get("weights") == "random"

    def record(self) -> RunRecord:
        """The run record. Raises: UsageError if there is none or it does not fit."""
        return read_json(self.record_file, RunRecord, "run record")

    def write_record(self, record: RunRecord) -> None:
        """Writes the run record, whole or not at all."""
        write_json(self.record_file, record)

    def job(self) -> Job | None:
        """What the launched script recorded, or None if it never started."""
        try:
            is_written = self.job_file.stat().st_size > 0
        except FileNotFoundError:
            is_written = False
        return read_json(self.job_file, Job, "job record") if is_written else None

    def raw_log(self) -> RawLog | None:
        """The raw log with its hash, or None if there is none."""
        if not self.log.is_file():
            return None
        path = self.log.relative_to(self.root).as_posix()
        return RawLog(path=path, sha256=sha256_of(self.log), size_bytes=self.log.stat().st_size)

    def changed_files(self, files: tuple[FileHash, ...]) -> tuple[str, ...]:
        """Those of the files, by path below the run directory, that are missing or hold other bytes now."""

        def differs(file: FileHash) -> bool:
            path = self.root / file.path
            return not path.is_file() or sha256_of(path) != file.sha256

        return tuple(file.path for file in files if differs(file))


def run_name(model: str, gpu_type: str, stem: str, created: datetime.datetime) -> str:
    """`qwen3.5-moe-mini-cpu-smoke-dp2-20261130T041500Z`: model, GPU, recipe file, UTC."""
    stamp = created.astimezone(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    words = "-".join((model, gpu_type, stem)).lower()
    return "".join(c if c.isascii() and (c.isalnum() or c in "-._") else "-" for c in words) + f"-{stamp}"


def new_run_directory(parent: Path, name: str) -> RunDirectory:
    """A directory `name` below `parent` that was not there before; `name-2`, `name-3` … where it was.

    Raises: UsageError if it cannot be made.
    """
    number = 1
    while True:
        root = parent / (name if number == 1 else f"{name}-{number}")
        try:
            parent.mkdir(parents=True, exist_ok=True)
            root.mkdir()
        except FileExistsError as error:
            if not root.exists():
                raise _unmakeable(root, error) from error
            number += 1
        except OSError as error:
            raise _unmakeable(root, error) from error
        else:
            return _claimed(root)


def named_run_directory(root: Path) -> RunDirectory:
    """The directory that the caller named, which must not be there yet or be empty.

    Raises: UsageError if it holds anything, or cannot be made.
    """
    if any(ord(character) < 32 for character in str(root.absolute())):
        raise _problem(root, "its path holds a control character", "name another run directory")
    try:
        root.mkdir(parents=True, exist_ok=True)
        if next(root.iterdir(), None) is not None:
            raise _taken(root)
    except OSError as error:
        raise _unmakeable(root, error) from error
    return _claimed(root)


def open_run_directory(root: Path) -> RunDirectory:
    """The run directory at a path. Raises: UsageError if there is none."""
    if not (root / RECORD).is_file():
        reason = f"is no run directory: it holds no {RECORD}" if root.is_dir() else "there is no such directory"
        raise unreadable(str(root), reason, "name a directory that `openrecipes run` made")
    return RunDirectory(root=root.resolve())


def run_directory_named(source: str) -> RunDirectory | None:
    """The run directory that a word names; None where it names something else, such as a log."""
    root = Path(source)
    return open_run_directory(root) if (root / RECORD).is_file() else None


def _claimed(root: Path) -> RunDirectory:
    """The directory, ours alone: of two that both found it empty, one makes `log` and the other is refused."""
    directory = RunDirectory(root=root.resolve())
    try:
        directory.log.parent.mkdir()
    except FileExistsError as error:
        raise _taken(root) from error
    except OSError as error:
        raise _unmakeable(root, error) from error
    return directory


def _taken(root: Path) -> UsageError:
    return _problem(root, "is not empty; a run directory is never reused", "name one that does not exist yet")


def _unmakeable(root: Path, error: OSError) -> UsageError:
    return _problem(root, f"cannot be made: {error.strerror}", "name a directory that you may write")


def _problem(root: Path, what: str, mend: str) -> UsageError:
    return UsageError(Problem(place=Place(file=str(root), key="--run-dir"), rule="run-directory", what=what, mend=mend))
