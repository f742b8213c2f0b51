"""Paths of a profile that mean nothing on its nodes: relative ones, and those that the job's container does not see."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from openrecipes.problems import Place, Problem, Severity
from openrecipes.targets.container import Mount
from openrecipes.targets.profile import Profile
from openrecipes.targets.target import Launch

# Paths that lie on the host, and the variable by which a command names them. Checkouts may lie in the image.
_OF_THE_HOST: Final = {"hf_checkpoint": "$HF_CKPT", "torch_dist": "$TORCH_DIST", "sft_data": "$SFT_DATA"}


def relative_paths(profile: Profile) -> Iterator[Problem]:
    """Paths that are not from the root, where nodes are others than this machine."""
    for name, value in profile.paths:
        if profile.target != "local" and value is not None and not value.startswith("/") and name != "runs":
            yield Problem(
                place=Place(file=profile.title, key=f"paths.{name}"),
                rule="target-paths",
                what=f"{value} means another place on every node",
                mend="write the path from the root, as every node has it",
            )


def unmounted_paths(profile: Profile) -> Iterator[Problem]:
    """A warning for each path of the profile that its container does not see: some recipe will not need it."""
    for name in _OF_THE_HOST:
        path = getattr(profile.paths, name)
        if path is not None:
            yield from _unmounted(profile, f"paths.{name}", path, "warning")


def mount_refusals(launch: Launch) -> Iterator[Problem]:
    """An error for each path that the command needs and the container does not see, or may not write."""
    profile, container = launch.profile, launch.profile.container
    named = {value for argument in launch.command.arguments if argument.is_variable for value in argument.values}
    if launch.recipe.trainer == "smoke":  # it reads no checkpoint
        named.discard("$HF_CKPT")
    for name, variable in _OF_THE_HOST.items():
        key, path = f"paths.{name}", getattr(profile.paths, name)
        if name == "sft_data" and launch.sft_data is not None and launch.sft_data != path:
            key, path = "--sft-data", launch.sft_data
        if variable in named and path is not None:
            yield from _unmounted(profile, key, path, "error")
    torch_dist = profile.paths.torch_dist
    if launch.command.trainer == "converter" and container is not None and torch_dist is not None:
        mount = _mount(torch_dist, container.mounts)
        if mount is not None and mount.read_only:
            what, mend = f"{torch_dist} lies on a mount that the container may not write", "mount it for writing"
            place = Place(file=profile.title, key="paths.torch_dist")
            yield Problem(place=place, rule="target-mounted", what=what, mend=mend)


def _unmounted(profile: Profile, key: str, path: str, severity: Severity) -> Iterator[Problem]:
    """The path, if it is from the root and lies below no mount; of pods below none of their volumes."""
    if profile.kubernetes is not None:
        seen, listed = tuple(Mount(source=v.mount_path) for v in profile.kubernetes.volumes), "kubernetes.volumes"
    elif profile.container is not None:
        seen, listed = profile.container.mounts, "container.mounts"
    else:
        return
    if path.startswith("/") and _mount(path, seen) is None:
        inside = ", ".join(mount.inside for mount in seen) or "nothing"
        what = f"{path} lies below no mount of the job's container, which sees {inside}"
        mend = f"mount its folder under {listed}, also where the site's own configuration does, or name another path"
        place = Place(key=key) if key.startswith("--") else Place(file=profile.title, key=key)
        yield Problem(place=place, rule="target-mounted", what=what, mend=mend, severity=severity)


def _mount(path: str, mounts: tuple[Mount, ...]) -> Mount | None:
    """The mount that holds the path: the deepest one."""
    whole = PurePosixPath(path)
    found = [mount for mount in mounts if whole.is_relative_to(mount.inside) and ".." not in whole.parts]
    return max(found, key=lambda mount: len(mount.inside), default=None)
