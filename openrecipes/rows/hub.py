"""A dataset of the Hugging Face hub as a folder on disk, pinned to a commit."""

from pathlib import Path

from openrecipes.problems import OutsideError, Place, Problem, UsageError


def downloaded(dataset: str, revision: str | None) -> tuple[Path, str]:
    """The folder with the dataset's conversation files, and the commit it is at.

    huggingface_hub resumes a broken download, keeps files in its cache, and reads HF_TOKEN, HF_HOME, HF_ENDPOINT
    and HF_HUB_OFFLINE as its users expect; the token never passes through here.

    Raises: UsageError if huggingface_hub is not installed or the dataset or commit does not exist;
    OutsideError if the hub cannot be reached.
    """
    try:
        from huggingface_hub import snapshot_download  # noqa: PLC0415  (optional: local sources need none)
        from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError  # noqa: PLC0415
    except ImportError as error:
        what, mend = "is on the Hugging Face hub, and huggingface_hub is not installed", "pip install huggingface_hub"
        raise UsageError(_problem(dataset, "source-hub", what, mend)) from error
    try:
        folder = snapshot_download(
            dataset, repo_type="dataset", revision=revision, allow_patterns=["*.parquet", "*.jsonl"]
        )
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        what = f"the hub has no such dataset{'' if revision is None else f' or no commit {revision} of it'}"
        mend = "check the id and the revision; a gated dataset needs HF_TOKEN"
        raise UsageError(_problem(dataset, "source-hub", what, mend)) from error
    except Exception as error:  # every transport has its own errors, and none of them is ours
        what = f"could not be downloaded: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        mend = "try again (the download goes on where it stopped), or name a local folder with --source"
        raise OutsideError(_problem(dataset, "source-hub", what, mend)) from error
    return Path(folder), Path(folder).name


def _problem(dataset: str, rule: str, what: str, mend: str) -> Problem:
    return Problem(place=Place(file=dataset), rule=rule, what=what, mend=mend)
