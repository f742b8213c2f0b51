"""A dataset of the Hugging Face hub as a folder on disk, pinned to a commit."""

import logging
import re
import sys
from pathlib import Path

from openrecipes.problems import OutsideError, Place, Problem, UsageError

_FILES = ("*.parquet", "*.jsonl")
_SECRETS = re.compile(r"(?<=//)[^/@\s]+@|\bhf_\w{8,}")


def downloaded(dataset: str, revision: str | None) -> tuple[Path, str]:
    """The folder with the dataset's conversation files, and the commit it is at.

    huggingface_hub goes on where a connection broke, keeps whole files in its cache, and reads HF_TOKEN, HF_HOME,
    HF_ENDPOINT and HF_HUB_OFFLINE as its users expect; the token never passes through here.

    Raises: UsageError if the dataset or commit does not exist or may not be read; OutsideError if the hub cannot be
    reached, or the download breaks off.
    """
    # A local source needs none of it, and it is slow to import.
    from huggingface_hub import snapshot_download  # noqa: PLC0415
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError, RevisionNotFoundError  # noqa: PLC0415
    from huggingface_hub.utils.tqdm import disable_progress_bars  # noqa: PLC0415

    if not sys.stderr.isatty():
        disable_progress_bars()
    for handler in logging.getLogger("huggingface_hub").handlers:
        handler.addFilter(_without_secrets)
    try:
        folder = snapshot_download(dataset, repo_type="dataset", revision=revision, allow_patterns=list(_FILES))
    except (RepositoryNotFoundError, RevisionNotFoundError, HFValidationError) as error:
        what = f"the hub has no such dataset{'' if revision is None else f' or no commit {revision} of it'}"
        mend = "check the id and the revision; a private or gated dataset needs HF_TOKEN"
        raise UsageError(_problem(dataset, what, mend)) from error
    except Exception as error:  # every transport has its own errors, and none of them is ours
        first = str(error).strip().splitlines()
        what = f"could not be downloaded: {_public(first[0]) if first else type(error).__name__}"
        mend = "try again (files that are whole are kept), or name a local folder of its shards with --source"
        raise OutsideError(_problem(dataset, what, mend)) from error
    return Path(folder), Path(folder).name


def _public(text: str) -> str:
    """The text without tokens, and without the user and password of an address."""
    return _SECRETS.sub("", text)


def _without_secrets(record: logging.LogRecord) -> bool:
    """Takes secrets out of a line that huggingface_hub logs."""
    record.msg, record.args = _public(record.getMessage()), ()
    return True


def _problem(dataset: str, what: str, mend: str) -> Problem:
    return Problem(place=Place(file=dataset), rule="source-hub", what=what, mend=mend)
