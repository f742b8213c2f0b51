"""What a run left beside its log, by hash: whoever reads it later sees whether it is still what the run left."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.json_files import sha256_of
from openrecipes.runs.record import FileHash, RunRecord

FILES: Final = ("environment.json", "nodes.json", "checkpoint.json", "preflight.json", "log/arrivals.jsonl")
_FOLDERS: Final = ("preflight", "telemetry")


def left_files(run: RunDirectory) -> tuple[FileHash, ...]:
    """Path and hash of each: the captured environment, what the nodes said of themselves, and the GPUs' samples."""
    return tuple(FileHash(path=_name(run, path), sha256=sha256_of(path)) for path in _files(run.root))


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """Paths of what is not as the run left it: other bytes now, come later, gone."""

    altered: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


NO_CHANGES: Final = Changes()


def changes_since(run: RunDirectory, record: RunRecord) -> Changes:
    """What changed since the end of the run; nothing that is known of one whose record names no files."""
    if not record.left:
        return NO_CHANGES
    known = {file.path for file in record.left}
    changed = run.changed_files(record.left)
    return Changes(
        altered=tuple(path for path in changed if (run.root / path).is_file()),
        added=tuple(file for path in _files(run.root) if (file := _name(run, path)) not in known),
        missing=tuple(path for path in changed if not (run.root / path).is_file()),
    )


def _name(run: RunDirectory, path: Path) -> str:
    return path.relative_to(run.root).as_posix()


def _files(root: Path) -> Iterator[Path]:
    found = [root / name for name in FILES]
    for name in _FOLDERS:
        found += sorted((root / name).glob("[!.]*"))
    yield from (path for path in found if path.is_file() and not path.is_symlink())
