"""`openrecipes` called in this process, as a person would call it: much cheaper than a process each."""

import contextlib
import gc
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from openrecipes.cli.app import main


@dataclass(frozen=True)
class Called:
    """What a call came to."""

    returncode: int
    stdout: str
    stderr: str


def called(*words: str | Path, cwd: Path | None = None) -> Called:
    """Exit status and output of `openrecipes WORDS…`, called in `cwd`; a bug comes out as itself."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    argv = ["openrecipes", "--debug", *map(str, words)]
    with (
        mock.patch.object(sys, "argv", argv),
        contextlib.chdir(cwd or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            gc.enable()  # a call that ends early leaves it off, as its process would have ended
    return Called(returncode=status, stdout=out.getvalue(), stderr=err.getvalue())
