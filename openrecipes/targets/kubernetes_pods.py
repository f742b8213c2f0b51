"""The pods of a RayJob as plain data: one head and its workers, all alike."""

from typing import Any, Final

from openrecipes.targets.fabric import Fabric
from openrecipes.targets.kubernetes_names import config_key
from openrecipes.targets.kubernetes_site import KubernetesSite, Volume

MOUNT: Final = "/openrecipes"
_SHM: Final = "/dev/shm"  # noqa: S108  (mounted, not written to)
# Label of every Ray pod, by KubeRay: its cluster's name, which no other run has.
_CLUSTER_LABEL: Final = "metadata.labels['ray.io/cluster']"


def pod_template(
    site: KubernetesSite, fabric: Fabric | None, *, gpus: int, config: str, files: tuple[str, ...]
) -> dict[str, Any]:
    """The pod template of head and workers: GPUs and RDMA devices of one node, limits equal to requests."""
    spec: dict[str, Any] = {"restartPolicy": "Never"}
    if site.host_network:
        spec |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    if site.service_account:
        spec["serviceAccountName"] = site.service_account
    if site.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in site.image_pull_secrets]
    if site.node_selector:
        spec["nodeSelector"] = dict(site.node_selector)
    if site.tolerations:
        spec["tolerations"] = [taint.model_dump(exclude_none=True) for taint in site.tolerations]
    spec["containers"] = [_container(site, resources(site, fabric, gpus))]
    items = [{"key": config_key(path), "path": path} for path in files]
    spec["volumes"] = [
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": site.shared_memory}},
        {"name": "launch", "configMap": {"name": config, "defaultMode": 0o555, "items": items}},
        *(_volume(volume) for volume in site.volumes),
    ]
    own = {
        # The container's command is ours, and it runs KubeRay's `ray start` itself.
        "ray.io/overwrite-container-cmd": "true",
        # A node that is emptied for thrift ends a measurement.
        "karpenter.sh/do-not-disrupt": "true",
    }
    return {"metadata": {"annotations": {**own, **site.pod_annotations}}, "spec": spec}


def resources(site: KubernetesSite, fabric: Fabric | None, gpus: int) -> dict[str, str]:
    """What a pod requests, which is also its limit."""
    wanted = {site.gpu_resource: str(gpus)}
    if fabric is not None and fabric.devices_per_node:
        if fabric.kind == "efa":
            wanted[site.efa_resource] = str(fabric.devices_per_node)
        elif fabric.kind != "none" and site.rdma_resource:
            wanted[site.rdma_resource] = str(fabric.devices_per_node)
    if site.hugepages_2mi:
        wanted["hugepages-2Mi"] = site.hugepages_2mi
    return {**wanted, "cpu": site.cpu, "memory": site.memory}


def _container(site: KubernetesSite, wanted: dict[str, str]) -> dict[str, Any]:
    security: dict[str, Any] = {"capabilities": {"add": ["IPC_LOCK"]}}
    if site.privileged:
        security["privileged"] = True
    return {
        "name": "ray",
        "image": site.image,
        "command": ["/bin/bash"],
        "args": [f"{MOUNT}/node.sh"],
        "env": [
            {"name": "OPENRECIPES_RAY_CLUSTER", "valueFrom": {"fieldRef": {"fieldPath": _CLUSTER_LABEL}}},
            {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"},
            *(
                {"name": s.variable, "valueFrom": {"secretKeyRef": {"name": s.secret, "key": s.key}}}
                for s in site.secrets
            ),
        ],
        "securityContext": security,
        "resources": {"limits": dict(wanted), "requests": dict(wanted)},
        "volumeMounts": [
            {"name": "shm", "mountPath": _SHM},
            {"name": "launch", "mountPath": MOUNT, "readOnly": True},
            *(_mount(volume) for volume in site.volumes),
        ],
    }


def _mount(volume: Volume) -> dict[str, Any]:
    mount: dict[str, Any] = {"name": volume.name, "mountPath": volume.mount_path}
    return mount | {"readOnly": True} if volume.read_only else mount


def _volume(volume: Volume) -> dict[str, Any]:
    if volume.claim is not None:
        return {"name": volume.name, "persistentVolumeClaim": {"claimName": volume.claim}}
    return {"name": volume.name, "hostPath": {"path": volume.host_path}}
