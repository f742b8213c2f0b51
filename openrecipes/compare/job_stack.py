"""What a run's job captured, with the image that its launch named where the job itself could not tell."""

from openrecipes.problems import ProblemsError
from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.json_files import read_json
from openrecipes.stack.captured import Captured
from openrecipes.targets.read_profile import read_profile


def job_stack(run: RunDirectory) -> Captured:
    """The captured environment of a run.

    Raises: UsageError if there is none, or it does not fit.
    """
    captured = read_json(run.environment, Captured, "captured environment")
    named = None if captured.image else _launched_image(run)
    return captured.model_copy(update={"image": named}) if named else captured


def _launched_image(run: RunDirectory) -> str | None:
    """The image of the cluster profile that the run was launched with, by its digest; None without a container."""
    if not run.cluster.is_file():
        return None
    try:
        return read_profile(run.cluster).image
    except ProblemsError:
        return None
