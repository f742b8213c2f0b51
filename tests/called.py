"""The command line called in this process: a tenth of the time of a process of its own."""

import contextlib
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from openrecipes.cli import app

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, kw_only=True)
class Called:
    """How a call ended and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def openrecipes(*words: object, folder: Path = ROOT, data: bytes = b"", **environment: str) -> Called:
    """`openrecipes WORDS` from `folder` with `data` on standard input, as a process of its own would end."""
    printed, said = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(said),
        mock.patch.object(sys, "argv", ["openrecipes", *map(str, words)]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(data))),
        mock.patch.dict(os.environ, {"NO_COLOR": "1", "COLUMNS": "80", **environment}),
    ):
        try:
            app.main()
            status: object = 0
        except SystemExit as ended:
            status = ended.code
    return Called(
        returncode=status if isinstance(status, int) else 0, stdout=printed.getvalue(), stderr=said.getvalue()
    )
