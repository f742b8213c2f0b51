"""What a Kubernetes cluster with KubeRay must say once, for every recipe."""

from typing import Annotated, Literal

from pydantic import Field

from openrecipes.recipe.block import Block, Count, Text
from openrecipes.recipe.model import EnvironmentName

DnsLabel = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
Quantity = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$")]
QualifiedName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._/-]{0,250}[A-Za-z0-9])?$")]
AbsolutePath = Annotated[str, Field(pattern=r"^/[^\x00-\x1f:]*$", max_length=4096)]
Image = Annotated[str, Field(pattern=r"^[^\s@]+@sha256:[0-9a-f]{64}$")]


class Toleration(Block):
    """A taint of the GPU nodes that the pods accept."""

    key: QualifiedName = Field(description="Key of the taint.")
    operator: Literal["Exists", "Equal"] = Field(default="Exists", description="How it is compared.")
    value: Text | None = Field(default=None, description="Value, with Equal.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(description="What the taint does.")


class Volume(Block):
    """A volume that every pod mounts: a claim, or a folder of the node."""

    name: DnsLabel = Field(description="Name within the pod.")
    mount_path: AbsolutePath = Field(description="Where it is mounted.")
    claim: DnsLabel | None = Field(default=None, description="PersistentVolumeClaim; ReadWriteMany where written.")
    host_path: AbsolutePath | None = Field(default=None, description="Folder of the node.")
    read_only: bool = Field(default=False, description="Mount without writing.")


class SecretKey(Block):
    """A variable whose value is a key of a Kubernetes Secret. The value itself is nowhere in this project's files."""

    variable: EnvironmentName = Field(description="Environment variable of the pods.")
    secret: DnsLabel = Field(description="Name of the Secret.")
    key: QualifiedName = Field(description="Key in it.")


class KubernetesSite(Block):
    """Namespace, image, resources and volumes of the pods."""

    namespace: DnsLabel = Field(description="Namespace of the run.")
    context: Text | None = Field(default=None, description="kubectl context; null takes kubectl's current one.")
    image: Image = Field(description="Training image by digest: NAME@sha256:DIGEST.")
    ray_version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")] = Field(description="Ray version of the image.")
    node_selector: dict[QualifiedName, Text] = Field(default={}, description="Labels of the nodes to run on.")
    tolerations: tuple[Toleration, ...] = Field(default=(), description="Taints that the pods accept.")
    labels: dict[QualifiedName, Text] = Field(default={}, description="Labels of the RayJob, as a Kueue queue's.")
    pod_annotations: dict[QualifiedName, str] = Field(default={}, description="Annotations of the pods.")
    service_account: DnsLabel | None = Field(default=None, description="Service account of the pods.")
    image_pull_secrets: tuple[DnsLabel, ...] = Field(default=(), description="Secrets to pull the image with.")
    gpu_resource: QualifiedName = Field(default="nvidia.com/gpu", description="Name of the GPU resource.")
    efa_resource: QualifiedName = Field(default="vpc.amazonaws.com/efa", description="Name of the EFA resource.")
    rdma_resource: QualifiedName | None = Field(
        default=None, description="Name of the resource of InfiniBand or RoCE devices; null requests none."
    )
    cpu: Quantity = Field(description="CPUs of a pod, as request and limit.")
    memory: Quantity = Field(description="Memory of a pod, as request and limit; /dev/shm counts against it.")
    hugepages_2mi: Quantity | None = Field(default=None, description="2 MiB hugepages of a pod; null requests none.")
    shared_memory: Quantity = Field(default="128Gi", description="Size of /dev/shm, in memory.")
    host_network: bool = Field(default=False, description="Pods use the node's network; one Ray pod a node then.")
    privileged: bool = Field(default=False, description="Privileged containers, where a driver needs it.")
    volumes: tuple[Volume, ...] = Field(description="Volumes of every pod: checkpoints, rows, run directories.")
    secrets: tuple[SecretKey, ...] = Field(default=(), description="Variables from Secrets.")
    pending_limit_seconds: Count = Field(default=1800, description="Longest wait for all pods. Unit: seconds.")
    keep_seconds: Count = Field(default=600, description="Time that pods stay after the end, for logs. Unit: seconds.")
