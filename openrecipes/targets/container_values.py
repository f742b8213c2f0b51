"""What a script takes to enter the job's container, whatever starts it."""

from typing import Any

from openrecipes.targets.profile import Profile
from openrecipes.targets.target import Launch


def container_values(launch: Launch) -> dict[str, Any] | None:
    """As container_of, for the place of a launch."""
    return container_of(launch.profile)


def container_of(profile: Profile) -> dict[str, Any] | None:
    """The image, its mounts as `SOURCE:TARGET[:ro]`, device files, and the variables that come along; None without."""
    container = profile.container
    if container is None:
        return None
    mounts = (f"{m.source}:{m.inside}{':ro' if m.read_only else ''}" for m in container.mounts)
    secrets = (secret.variable for secret in profile.secrets.values() if secret.variable is not None)
    return {
        "runtime": container.runtime,
        "image": container.image,
        "mounts": tuple(mounts),
        "device_files": profile.fabric.device_files if profile.fabric else (),
        "variables": tuple(dict.fromkeys((*profile.keep_environment, *secrets))),
    }
