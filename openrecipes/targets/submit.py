"""The only place that starts a recipe's processes, and only from rendered files that lie unchanged on disk."""

import os
import subprocess
import sys
from pathlib import Path

from openrecipes.problems import OutsideError, Place, Problem, ProblemsError
from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.record import FileHash
from openrecipes.targets.local import STOP_S
from openrecipes.targets.process_job import ProcessJob
from openrecipes.targets.target import Rendered


def write_rendered(rendered: Rendered, folder: Path) -> None:
    """Writes every file below `folder`. Raises: FileExistsError if one is there; nothing is overwritten."""
    for file in rendered.files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as out:
            out.write(file.content)
        path.chmod(0o755 if file.executable else 0o644)


def file_hashes(rendered: Rendered, run: RunDirectory) -> tuple[FileHash, ...]:
    """Path below the run directory and sha256 of every rendered file."""
    folder = run.rendered.relative_to(run.root)
    return tuple(FileHash(path=(folder / file.path).as_posix(), sha256=file.sha256) for file in rendered.files)


def refuse_changed(rendered: Rendered, run: RunDirectory) -> None:
    """Nothing, if what lies on disk is what was rendered. Raises: ProblemsError naming each file that is not."""
    changed = run.changed_files(file_hashes(rendered, run))
    if changed:
        raise ProblemsError(*(_changed(run.root / path) for path in changed))


def submit(rendered: Rendered, run: RunDirectory, *, stop_s: float = STOP_S) -> ProcessJob:
    """The running script: the rendered entry, in a session of its own, all its output in the run's log.

    Raises: ProblemsError, and starts nothing, if the bytes on disk are not the rendered ones.
    """
    refuse_changed(rendered, run)
    command = ["bash", str(run.rendered / rendered.entry), str(run.root)]
    try:
        with run.log.open("ab") as log:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(),
                start_new_session=True,
            )
    except OSError as error:
        what = f"bash cannot be started: {error.strerror}"
        raise OutsideError(Problem(place=Place(), rule="launch-start", what=what, mend="install bash")) from error
    return ProcessJob(run, child.pid, stop_s=stop_s, child=child)


def _environment() -> dict[str, str]:
    """Our environment, with the interpreter that runs us first on PATH; the script lets little of it through."""
    environment = dict(os.environ)
    folder = str(Path(sys.executable).parent)
    environment["PATH"] = os.pathsep.join((folder, environment.get("PATH", os.defpath)))
    if sys.prefix != sys.base_prefix:
        environment["VIRTUAL_ENV"] = sys.prefix
    return environment


def _changed(path: Path) -> Problem:
    what = "is missing, or is not what was rendered; nothing was started"
    return Problem(place=Place(file=str(path)), rule="render-unchanged", what=what, mend="run the recipe again")
