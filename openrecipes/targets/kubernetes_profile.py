"""What a profile of a Kubernetes cluster says that pods have from elsewhere, or not at all."""

from collections.abc import Iterator

from openrecipes.located_yaml import Path_
from openrecipes.targets.profile import Profile
from openrecipes.targets.running_settings import Ray

_AS_BY_DEFAULT = Ray()


def kubernetes_contradictions(profile: Profile) -> Iterator[tuple[Path_, str, str, str]]:
    """Settings that would be ignored there, each as path of the key, rule, what, mend."""
    if profile.target != "kubernetes":
        return
    ray = profile.ray
    if ray.port is not None:
        what = f"{ray.port}, but KubeRay gives a run's Ray its ports"
        yield ("ray", "port"), "profile-ray", what, "remove it"
    if ray.interface is not None:
        what = f"{ray.interface}, but Kubernetes gives a pod its address"
        yield ("ray", "interface"), "profile-ray", what, "write NCCL_SOCKET_IFNAME into fabric.env, where NCCL needs it"
    if ray.folder != _AS_BY_DEFAULT.folder:
        what = f"{ray.folder}, but a pod's Ray has its files in the pod's own /tmp/ray"
        yield ("ray", "folder"), "profile-ray", what, "remove it"
    if profile.keep_environment:
        what = f"{', '.join(profile.keep_environment)} of this machine reach no pod"
        yield ("keep_environment",), "profile-environment", what, "write the value under env, or a secret's reference"
    if profile.secrets:
        what = f"{', '.join(profile.secrets)} would be read here, and pods read Secrets of the cluster"
        yield ("secrets",), "profile-secret", what, "write kubernetes.secrets instead"
    if profile.fabric is not None and profile.fabric.device_files:
        what = f"{', '.join(profile.fabric.device_files)} would be given to a container, and pods have device plugins"
        yield (
            ("fabric", "device_files"),
            "profile-devices",
            what,
            "remove it; kubernetes.rdma_resource names the plugin's",
        )
