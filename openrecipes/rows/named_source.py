"""The source that a name means: a path, a file shipped with the project, or a dataset of the hub."""

import re
from pathlib import Path

from openrecipes.problems import unreadable
from openrecipes.rows.hub import downloaded
from openrecipes.rows.source import Source, open_source
from openrecipes.shipped import shipped

_HUB_ID = re.compile(r"^[\w.-]+/[\w.-]+$")


def named_source(name: str, revision: str | None = None) -> Source:
    """The conversations that the name means, looked for in that order.

    Raises: UsageError if there is nothing of that name; OutsideError if the hub cannot be reached; ProblemsError
    for files that cannot be read.
    """
    path = Path(name)
    if name and path.exists():
        return open_source(path, name=name)
    if name and not path.is_absolute() and shipped(name).exists():
        return open_source(shipped(name), name=name)
    if _is_dataset_id(name):
        folder, commit = downloaded(name, revision)
        return open_source(folder, name=name, revision=commit)
    mend = "name a .jsonl or .parquet file, a folder of them, or a dataset id like allenai/tulu-3-sft-mixture"
    raise unreadable(name, "there is no such file or folder", mend)


def refuse_unknown(name: str) -> None:
    """Nothing, where there is such a source as far as can be told without the hub. Raises: UsageError."""
    if Path(name).exists() or shipped(name).exists() or not _is_dataset_id(name):
        named_source(name)


def _is_dataset_id(name: str) -> bool:
    return bool(_HUB_ID.match(name)) and Path(name).suffix not in (".jsonl", ".parquet", ".json")
