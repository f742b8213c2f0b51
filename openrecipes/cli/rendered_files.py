"""Rendered files written to a folder of the user's, without losing what lies there."""

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


def _in_the_way(file: RenderedFile, folder: Path, *, force: bool) -> Iterator[Problem]:
    path = folder / file.path
    place = Place(file=str(path))
    if path.is_symlink() or (path.exists() and not path.is_file()):
        what, mend = "is there, and is no plain file", "move it away, or name another folder with -o"
        yield Problem(place=place, rule="render-overwrite", what=what, mend=mend)
    elif not force and path.is_file() and path.read_bytes() != file.content:
        what, mend = "is there with other contents", "name another folder with -o, or add --force to replace it"
        yield Problem(place=place, rule="render-overwrite", what=what, mend=mend)
