"""Kubernetes as a target: a KubeRay RayJob and the ConfigMap of its files, built as data and dumped as YAML."""

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import yaml

from openrecipes.layouts.degrees import gpus_of_a_node
from openrecipes.problems import Place, Problem
from openrecipes.stack import capture
from openrecipes.targets.fatal_signs import sign_files
from openrecipes.targets.kubernetes_convert import converter_pod_files
from openrecipes.targets.kubernetes_names import config_key, config_name, job_prefix
from openrecipes.targets.kubernetes_pods import MOUNT, pod_template
from openrecipes.targets.kubernetes_refusals import kubernetes_refusals
from openrecipes.targets.kubernetes_site import KubernetesSite
from openrecipes.targets.local import GRACE_S
from openrecipes.targets.node_script import (
    LOG_SETTINGS,
    RAY_SETTINGS,
    argument_words,
    hang_values,
    node_count,
    variables,
)
from openrecipes.targets.node_values import node_value
from openrecipes.targets.preflight import preflight_files
from openrecipes.targets.preflight_words import between_words, preflight_words
from openrecipes.targets.running_settings import Ray
from openrecipes.targets.target import Launch, Rendered, RenderedFile
from openrecipes.targets.templates import program, shell_script

CONFIG: Final = "configmap.yaml"
JOB: Final = "rayjob.yaml"
# Label of what is ours in a cluster.
MANAGED_BY: Final = ("app.kubernetes.io/managed-by", "openrecipes")
# The API server's limit of a ConfigMap's data.
_MOST_BYTES: Final = 2**20
# One word and one file: KubeRay pastes it into a shell of the submitter, where `&&` or `;` would act.
_ENTRYPOINT: Final = f"bash {MOUNT}/entry.sh"


class KubernetesTarget:
    """Runs slime on a Ray cluster that KubeRay makes for the run and takes down after it."""

    @property
    def name(self) -> str:
        """`kubernetes`."""
        return "kubernetes"

    def refusals(self, launch: Launch) -> Iterator[Problem]:
        """What the profile lacks or the cluster cannot do, and files that a ConfigMap cannot hold."""
        yield from kubernetes_refusals(launch)
        if launch.profile.kubernetes is None:
            return
        size = sum(len(text.encode()) for text in _files(launch).values())
        if size > _MOST_BYTES:
            yield Problem(
                place=Place(file=launch.profile.title, key="kubernetes"),
                rule="target-size",
                what=f"the launched files have {size} bytes, and a ConfigMap holds {_MOST_BYTES}",
                mend="shorten the recipe's environment and arguments",
            )

    def render(self, launch: Launch) -> Rendered:
        """The ConfigMap and the RayJob, in the order in which they are created."""
        site = launch.profile.kubernetes
        if site is None:
            raise ValueError("a profile without a kubernetes block is refused before it is rendered")
        files = _files(launch)
        digest = hashlib.sha256("".join(f"{name}\0{text}\0" for name, text in files.items()).encode()).hexdigest()
        config = config_name(launch.recipe.model, launch.recipe.layout.label, digest)
        documents = {CONFIG: _config_map(site, config, files), JOB: _ray_job(launch, site, config, tuple(files))}
        return Rendered(
            files=tuple(RenderedFile(path=name, text=yaml_text(document)) for name, document in documents.items()),
            entry=JOB,
        )


def yaml_text(document: dict[str, Any]) -> str:
    """The document as YAML: keys in their order, no anchors (some admission tools take none), scripts as blocks."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  (the base class's signature)
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


def _config_map(site: KubernetesSite, name: str, files: dict[str, str]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": site.namespace, "labels": dict([MANAGED_BY])}
    keyed = {config_key(path): text for path, text in files.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "immutable": True, "data": keyed}


def _ray_job(launch: Launch, site: KubernetesSite, config: str, files: tuple[str, ...]) -> dict[str, Any]:
    recipe, gpus = launch.recipe, launch.recipe.gpu
    count, per_pod = node_count(launch), gpus_of_a_node(gpus.count, gpus.per_node)
    template = pod_template(site, launch.profile.fabric, gpus=per_pod, config=config, files=files)
    start = {"num-gpus": str(per_pod), **_ray_settings(launch.profile.ray)}
    cluster: dict[str, Any] = {
        "rayVersion": site.ray_version,
        "headGroupSpec": {"rayStartParams": {**start, "dashboard-host": "0.0.0.0"}, "template": template},  # noqa: S104
    }
    if count > 1:
        workers = {"groupName": "gpu", "replicas": count - 1, "minReplicas": count - 1, "maxReplicas": count - 1}
        cluster["workerGroupSpecs"] = [{**workers, "rayStartParams": start, "template": template}]
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {
            # Completed by the API server: equal files can run twice, and never under one name.
            "generateName": job_prefix(recipe.model, recipe.layout.label),
            "namespace": site.namespace,
            "labels": {**site.labels, **dict([MANAGED_BY])},
        },
        "spec": {
            "submissionMode": "K8sJobMode",
            # A measurement that was begun again is another one: no retry, of the submitter or of the whole.
            "submitterConfig": {"backoffLimit": 0},
            "backoffLimit": 0,
            "entrypoint": _ENTRYPOINT,
            "runtimeEnvYAML": yaml_text({"env_vars": _job_environment(launch)}),
            "activeDeadlineSeconds": launch.profile.time_limit_seconds,
            "preRunningDeadlineSeconds": site.pending_limit_seconds,
            "shutdownAfterJobFinishes": True,
            "ttlSecondsAfterFinished": site.keep_seconds,
            "rayClusterSpec": cluster,
        },
    }


def _ray_settings(ray: Ray) -> dict[str, str]:
    """The profile's settings of Ray as options of `ray start`, all of them text."""
    settings = {}
    if ray.cpus_per_node is not None:
        settings["num-cpus"] = str(ray.cpus_per_node)
    if ray.object_store_gib is not None:
        settings["object-store-memory"] = str(round(ray.object_store_gib * 2**30))
    if ray.worker_ports is not None:
        settings |= dict(zip(("min-worker-port", "max-worker-port"), map(str, ray.worker_ports), strict=True))
    return settings


def _files(launch: Launch) -> dict[str, str]:
    """The files that the pods see, by path: both scripts, and the programs that they run."""
    if launch.command.trainer == "converter":
        return converter_pod_files(launch, node=_node_values(launch), entry=_entry_values(launch))
    names = ("pretokenized_sft_rollout.py", "ray_cluster.py", "telemetry.py")
    return {
        "node.sh": shell_script("kubernetes_node.sh.j2", **_node_values(launch)),
        "entry.sh": shell_script("kubernetes_entry.sh.j2", **_entry_values(launch)),
        "capture_environment.py": capture.source_text(),
        **{name: program(name) for name in names},
        **{file.path: file.text for file in (*preflight_files(), *sign_files())},
    }


def _node_values(launch: Launch) -> dict[str, Any]:
    literals = _literals(launch)
    return {
        "run_root": (launch.profile.paths.runs or "").rstrip("/"),
        "exported": tuple((name, value) for name, value in literals.items() if not _is_plain(value)),
        "literal_environment": tuple(literals.items()),
        "node_values": tuple(node_value(value) for value in launch.shell_values),
        "preflight_mode": launch.profile.preflight_mode,
        "preflight_words": preflight_words(launch.profile, launch.recipe, sft_data=launch.sft_data),
        "python": launch.profile.python,
    }


def _entry_values(launch: Launch) -> dict[str, Any]:
    recipe, paths = launch.recipe, launch.profile.paths
    names = [value.name for value in launch.command.environment]
    fabric = launch.profile.fabric.env if launch.profile.fabric else {}
    return {
        "grace_seconds": GRACE_S,
        "hang": hang_values(launch.profile.hang),
        # Of the whole job, its wait for nodes included, KubeRay holds it.
        "time_limit_seconds": None,
        "variables": (("SLIME_DIR", paths.slime or ""), *variables(launch)),
        "argument_words": tuple(argument_words(argument) for argument in launch.command.arguments),
        "recorded_variables": tuple(dict.fromkeys((*LOG_SETTINGS, *RAY_SETTINGS, *fabric, *names))),
        "nodes": node_count(launch),
        "gpus": recipe.gpu.count,
        "join_seconds": launch.profile.join_seconds,
        "preflight_mode": launch.profile.preflight_mode,
        "between_words": between_words(launch.profile, recipe),
        "python": launch.profile.python,
        "entry": launch.command.entry,
        "image": launch.profile.image,
    }


def _literals(launch: Launch) -> dict[str, str]:
    """The job's constant environment, the recipe's own values last; PYTHONPATH finds the rollout function and more."""
    paths, fabric = launch.profile.paths, launch.profile.fabric
    values = {v.name: v.value for v in launch.command.environment if v.kind == "literal"}
    own = ":".join((MOUNT, paths.megatron or "", paths.slime or ""))
    path = f"{own}:{values['PYTHONPATH']}" if "PYTHONPATH" in values else own
    checkouts = {"SLIME_DIR": paths.slime or "", "MEGATRON_DIR": paths.megatron or ""}
    return {**LOG_SETTINGS, **RAY_SETTINGS, **(fabric.env if fabric else {}), **checkouts, **values, "PYTHONPATH": path}


def _is_plain(value: str) -> bool:
    """Whether a shell of the submitter and Ray's own expansion both leave the value as it is."""
    return not set(value) & set("$`")


def _job_environment(launch: Launch) -> dict[str, str]:
    """What every Ray process of the job gets; values with a dollar are exported on the node instead."""
    return {name: value for name, value in _literals(launch).items() if _is_plain(value)}
