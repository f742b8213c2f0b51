"""Rendered files written to a folder of the user's, without losing what lies there."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from openrecipes.problems import Place, Problem, ProblemsError, UsageError
from openrecipes.runs.json_files import write_atomically
from openrecipes.targets.target import Rendered, RenderedFile


def write_rendered_files(rendered: Rendered, folder: Path, *, force: bool) -> None:
    """Writes every file below `folder`, or none.

    Raises: ProblemsError naming each file there that differs, unless `force`, and each that is no plain file;
    UsageError where the folder cannot be read or written.
    """
    try:
        problems = [problem for file in rendered.files for problem in _in_the_way(file, folder, force=force)]
        if problems:
            raise ProblemsError(*problems)
        for file in rendered.files:
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, file.content)
            path.chmod(0o755 if file.executable else 0o644)
    except OSError as error:
        what, mend = f"cannot be written: {error.strerror}", "name a folder with -o that you may write to"
        place = Place(file=str(error.filename or folder))
        raise UsageError(Problem(place=place, rule="file-writable", what=what, mend=mend)) from error


def how_to_start(target: str, folder: Path, *, has_rows: bool) -> Iterator[str]:
    """What starts the files in a folder by hand, and what they lack."""
    place = shlex.quote(str(folder))
    yield {
        "slurm": f"start it by hand: mkdir -p {place}/run/log && cd {place}/run && sbatch ../launch.sh",
        "kubernetes": f"start it by hand: kubectl apply --server-side -f {place}/configmap.yaml && "
        f"kubectl create -f {place}/rayjob.yaml",
    }.get(target, f"start it by hand: bash {place}/launch.sh; the run's files go to {place}/run")
    if not has_rows and target != "kubernetes":
        rows = shlex.quote(f"{folder}/run/data/rows.parquet")
        yield f"it reads its rows from {rows}: make them with openrecipes data build, or name others with --sft-data"


def _in_the_way(file: RenderedFile, folder: Path, *, force: bool) -> Iterator[Problem]:
    path = folder / file.path
    place = Place(file=str(path))
    if path.is_symlink() or (path.exists() and not path.is_file()):
        what, mend = "is there, and is no plain file", "move it away, or name another folder with -o"
        yield Problem(place=place, rule="render-overwrite", what=what, mend=mend)
    elif not force and path.is_file() and path.read_bytes() != file.content:
        what, mend = "is there with other contents", "name another folder with -o, or add --force to replace it"
        yield Problem(place=place, rule="render-overwrite", what=what, mend=mend)
