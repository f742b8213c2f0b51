"""The place that a caller names, with what the caller changes of it for one run."""

from pathlib import Path

from openrecipes.targets.profile import THIS_MACHINE, Profile
from openrecipes.targets.read_profile import read_profile


def profile_asked(cluster: Path | None, *, first_step_seconds: int | None = None) -> Profile:
    """The profile in a file, or this machine's, with a longest time to the first step of the caller's own.

    Raises: as read_profile.
    """
    profile = read_profile(cluster) if cluster else THIS_MACHINE
    if first_step_seconds is None:
        return profile
    hang = profile.hang.model_copy(update={"first_step_seconds": first_step_seconds})
    return profile.model_copy(update={"hang": hang})
