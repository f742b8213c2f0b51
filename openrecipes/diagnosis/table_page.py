"""docs/diagnosis.md, written from the table of signatures so that it cannot lag behind it."""

from collections.abc import Iterator
from typing import Final

from openrecipes.diagnosis.signatures import Kind, Trouble, table

_HEAD: Final = """# Diagnosing a run

`openrecipes diagnose LOG…` says what became of a run and why: the first cause among all that its logs say, over all
files and ranks, with its class, rank, node, line and remedy. LOG is a file, a directory of one run's logs, a run
directory, or `-`. Exit status 1 where the run failed or its figures mean nothing.

Outcomes:

| outcome | means |
| --- | --- |
| `completed` | it took its steps and its end says so; frightening lines that it survived stand under `others` |
| `failed` | it died, or claims success without its steps |
| `invalid` | it went on, and its figures mean nothing: no finite numbers, or random weights by mistake |
| `incomplete` | a fragment, or stopped from outside without a cause of its own |
| `running` | the run directory's record says that it goes on |

How the first cause is found: a line after which two more steps came was survived, and is no cause. What comes after a
scheduler's stop follows from it. Of the rest, a cause that names its own reason goes before an exception, that before a
process or collective that ended for reasons unknown, and that before their echoes in other processes; among equals the
earliest counts, by the line in one file and by the log's own clock between files. Of collectives that timed out, the
rank that hangs in an earlier one than all others is named.

This page is written from `openrecipes/diagnosis/signatures.yaml`, which holds the wordings. A new wording is a line
there, and a log in `tests/data/diagnosis/`.
"""

_KINDS: Final = {
    Kind.CAUSE: "Causes: they name their own reason",
    Kind.EXCEPTION: "Other exceptions",
    Kind.SYMPTOM: "Processes and collectives that ended",
    Kind.STOP: "Stopped by a scheduler or a person",
    Kind.OUTSIDE: "Told to end",
    Kind.ECHO: "Echoes of another process's end",
    Kind.END: "Last words",
    Kind.INVALID: "Goes on, and means nothing",
    Kind.WARNING: "Worth a look",
}


def table_page() -> str:
    """The page: how diagnosis works, then every class by kind."""
    everything: tuple[Trouble, ...] = (*table().classes, *table().computed)
    return _HEAD + "".join(part for kind in _KINDS for part in _section(kind, everything))


def _section(kind: Kind, everything: tuple[Trouble, ...]) -> Iterator[str]:
    rows = [trouble for trouble in everything if trouble.kind is kind]
    if not rows:
        return
    yield f"\n## {_KINDS[kind]}\n\n| class | what it means | what to do |\n| --- | --- | --- |\n"
    for trouble in rows:
        yield f"| `{trouble.name}` | {_cell(trouble.means)} | {_cell(trouble.remedy)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
