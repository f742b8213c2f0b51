"""What a script takes to enter the job's container, whatever starts it."""

from typing import Any

from openrecipes.targets.profile import Profile


def container_values(profile: Profile) -> dict[str, Any] | None:
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
