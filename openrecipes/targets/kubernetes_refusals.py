"""Why a launch cannot go to a Kubernetes cluster as its profile describes it."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from openrecipes.located_yaml import dotted
from openrecipes.problems import Place, Problem
from openrecipes.targets.fabric import fabric_refusals
from openrecipes.targets.kubernetes_pods import MOUNT
from openrecipes.targets.kubernetes_profile import kubernetes_contradictions
from openrecipes.targets.kubernetes_site import KubernetesSite, Volume
from openrecipes.targets.node_values import shell_refusals
from openrecipes.targets.profile import Profile
from openrecipes.targets.target import Launch

_OURS: Final = (MOUNT, "/dev/shm")  # noqa: S108  (named, not written to)
_OWN_VOLUMES: Final = ("shm", "launch")


def kubernetes_refusals(launch: Launch) -> Iterator[Problem]:
    """Everything that can be told without a cluster, all at once."""
    title, site = launch.profile.title, launch.profile.kubernetes
    if launch.recipe.trainer == "smoke":
        yield _problem("trainer", "target-trainer", "the smoke trainer runs on one machine", "launch it with local", "")
    yield from shell_refusals(launch.shell_values, allowed=launch.allow_shell_env)
    yield from fabric_refusals(launch.recipe, launch.profile.fabric, title)
    if site is None:
        yield _problem(
            "kubernetes", "target-site", "the profile does not describe a cluster", "write a kubernetes block", title
        )
        return
    yield from _path_refusals(launch, site)
    yield from _setting_refusals(launch.profile)
    yield from _volume_refusals(site, title)


def _path_refusals(launch: Launch, site: KubernetesSite) -> Iterator[Problem]:
    paths, title = launch.profile.paths, launch.profile.title
    named = {value for argument in launch.command.arguments if argument.is_variable for value in argument.values}
    needed = {
        "slime": (paths.slime, True, False),
        "megatron": (paths.megatron, True, False),
        "hf_checkpoint": (paths.hf_checkpoint, "$HF_CKPT" in named, True),
        "torch_dist": (paths.torch_dist, "$TORCH_DIST" in named, True),
        "sft_data": (launch.sft_data or paths.sft_data, "$SFT_DATA" in named, True),
    }
    for name, (path, is_needed, on_volume) in needed.items():
        if not is_needed:
            continue
        key = f"paths.{name}"
        if path is None:
            yield _problem(
                key, "target-paths", "slime needs it, and the profile does not say it", f"write {key}", title
            )
        elif on_volume and not _mounts(site, path):
            what = f"{path} lies on no volume of the pods"
            yield _problem(key, "target-mounted", what, "name a path below one of kubernetes.volumes", title)
    checkpoint = _mounts(site, paths.torch_dist) if paths.torch_dist else None
    if launch.command.trainer == "converter" and checkpoint is not None and checkpoint.read_only:
        what, mend = f"{paths.torch_dist} lies on a volume that the pods may not write", "mount it for writing"
        yield _problem("paths.torch_dist", "target-mounted", what, mend, title)
    root = _mounts(site, paths.runs) if paths.runs else None
    if root is None or root.read_only:
        what = (
            f"{paths.runs} lies on no volume that the pods may write" if paths.runs else "the profile does not say it"
        )
        yield _problem("paths.runs", "target-mounted", what, "name a folder below a shared volume", title)


def _setting_refusals(profile: Profile) -> Iterator[Problem]:
    """Settings of the profile that this target needs, or has in another place."""
    if profile.time_limit_seconds is None:
        what = "the profile does not say how long a run may take, and dead workers would hold its GPUs without end"
        yield _problem("time_limit_seconds", "target-time", what, "write time_limit_seconds", profile.title)
    for path, rule, what, mend in kubernetes_contradictions(profile):
        yield _problem(dotted(path), rule, what, mend, profile.title)
    if profile.container is not None:
        what, mend = "pods have their image from kubernetes.image", "remove the container block"
        yield _problem("container", "target-container", what, mend, profile.title)


def _volume_refusals(site: KubernetesSite, title: str) -> Iterator[Problem]:
    taken: dict[str, str] = {}
    for index, volume in enumerate(site.volumes):
        key = f"kubernetes.volumes[{index}]"
        if (volume.claim is None) == (volume.host_path is None):
            how = "neither claim nor" if volume.claim is None else "both claim and"
            what = f"{volume.name} has {how} host_path"
            yield _problem(key, "target-volume", what, "name a claim or a host_path", title)
        if volume.name in _OWN_VOLUMES or volume.name in taken.values():
            yield _problem(key, "target-volume", f"the name {volume.name} is taken", "take another name", title)
        if volume.mount_path.rstrip("/") in _OURS or volume.mount_path in taken:
            yield _problem(key, "target-volume", f"{volume.mount_path} is taken", "mount it elsewhere", title)
        taken[volume.mount_path] = volume.name
        if (volume.host_path or "").rstrip("/").startswith("/dev/infiniband"):
            # On B200 nodes that also show mlx5 cards, NCCL then falls back to TCP (aws-samples/aws-do-eks pull 63).
            what = "the host's /dev/infiniband hides EFA from libfabric on nodes with other RDMA cards"
            yield _problem(key, "target-volume", what, "leave it out: the device plugin adds the devices", title)
    for index, secret in enumerate(site.secrets):
        if secret.variable in ("OPENRECIPES_RAY_CLUSTER", "POD_RUN_DIR", "OPENRECIPES_RUN_DIR", "PATH", "PYTHONPATH"):
            key = f"kubernetes.secrets[{index}]"
            yield _problem(key, "target-secret", f"{secret.variable} is set by the launch", "take another name", title)


def _mounts(site: KubernetesSite, path: str) -> Volume | None:
    """The volume that holds the path: the deepest one."""
    whole = PurePosixPath(path)
    found = [v for v in site.volumes if whole.is_relative_to(v.mount_path) and ".." not in whole.parts]
    return max(found, key=lambda volume: len(volume.mount_path), default=None)


def _problem(key: str, rule: str, what: str, mend: str, title: str) -> Problem:
    return Problem(place=Place(file=title, key=key), rule=rule, what=what, mend=mend)
