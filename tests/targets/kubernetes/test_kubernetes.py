"""The manifests are what KubeRay and Kubernetes take, and say what the recipe and the profile say."""

import copy
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from rayjobs import CASES, PUBLISHED, documents, launch, pods, profile, recipe, rendered_case, rendered_documents
from script_differences import differences

from openrecipes.targets.kubernetes import KubernetesTarget, yaml_text
from openrecipes.targets.kubernetes_site import SecretKey

VERSION = "1.33"
# The CRD's schema as draft 2020-12: public material, from a path given or beside the project.
_BESIDE = Path(__file__).resolve().parents[4] / "shared" / "reference" / "kuberay-rayjob-v1.schema.json"
_PLACES = (Path(os.environ.get("KUBERAY_SCHEMA", "/nowhere")), _BESIDE)
SCHEMA = next((path for path in _PLACES if path.is_file()), None)
HASH = re.compile(r"-[0-9a-f]{10}\b")
needs_schema = pytest.mark.skipif(SCHEMA is None, reason="KUBERAY_SCHEMA names no schema of RayJob")


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    assert SCHEMA is not None
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_the_cases_hold_the_published_recipes_and_each_gpu() -> None:
    assert len(CASES) >= 12
    assert {cluster for _, cluster in CASES} == {"p5", "p5en", "p6-b200"}
    assert len([name for name, _ in CASES if "/attune-" in name]) == 3


def _files(name: str, cluster: str) -> dict[str, str]:
    rendered = rendered_case(name, cluster)
    config, _ = documents(rendered)
    return {
        # The name of the ConfigMap holds the hash of every program in it; those have tests of their own.
        "rayjob.yaml": HASH.sub("-HASH", rendered.files[1].text),
        "node.sh": config["data"]["node.sh"],
        # Before it stand the parts that every target's script has.
        "entry.sh": config["data"]["entry.sh"].partition("\nbegin_job\n")[2],
    }


def test_one_launch_is_the_golden_one(golden: Callable[[str, str], None]) -> None:
    for path, text in _files(PUBLISHED, "p5en").items():
        golden(f"kubernetes/{PUBLISHED.replace('/', '-')}/{path}", text)


@pytest.mark.parametrize(("name", "cluster"), [case for case in CASES if case[0] != PUBLISHED])
def test_what_differs_in_every_other(name: str, cluster: str, golden: Callable[[str, str], None]) -> None:
    golden(f"kubernetes/{name.replace('/', '-')}.diff", differences(_files(PUBLISHED, "p5en"), _files(name, cluster)))


@pytest.mark.parametrize(("name", "cluster"), CASES)
def test_core_objects_fit_the_schema_of_kubernetes(name: str, cluster: str) -> None:
    made = recipe(name)
    config, job = documents(rendered_case(name, cluster))
    kubernetes_validate.validate(config, VERSION, strict=True)
    assert len(pods(job)) == (1 if made.gpu.count == made.gpu.per_node else 2)
    for template in pods(job):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", **template["metadata"]}}
        kubernetes_validate.validate({**pod, "spec": template["spec"]}, VERSION, strict=True)
        wrong = copy.deepcopy({**pod, "spec": template["spec"]})
        wrong["spec"]["containers"][0]["volumeMount"] = []
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(wrong, VERSION, strict=True)


@needs_schema
@pytest.mark.parametrize(("name", "cluster"), CASES)
def test_rayjobs_fit_the_schema_of_kuberay(name: str, cluster: str, validator: jsonschema.Draft202012Validator) -> None:
    _, job = documents(rendered_case(name, cluster))
    assert list(validator.iter_errors(job)) == []


@needs_schema
@pytest.mark.parametrize(
    "path",
    [
        ("spec", "shutdownAfterJobFinished", True),
        ("spec", "rayClusterSpec", "headGroupSpec", "rayStartParams", "num-gpus", 8),
        ("spec", "backoffLimit", "none"),
    ],
)
def test_the_schema_of_kuberay_refuses_what_is_wrong(
    path: tuple[Any, ...], validator: jsonschema.Draft202012Validator
) -> None:
    _, job = rendered_documents(launch())
    *keys, last, value = path
    target = job
    for key in keys:
        target = target[key]
    target[last] = value
    assert list(validator.iter_errors(job))


@pytest.mark.parametrize(("name", "cluster"), CASES)
def test_gpus_nodes_and_devices_are_the_recipes(name: str, cluster: str) -> None:
    made, where = recipe(name), profile(cluster)
    _, job = documents(rendered_case(name, cluster))
    spec = job["spec"]["rayClusterSpec"]
    groups, count = spec.get("workerGroupSpecs", []), made.gpu.count // made.gpu.per_node
    assert sum(group["replicas"] for group in groups) == count - 1
    for group in groups:
        assert group["replicas"] == group["minReplicas"] == group["maxReplicas"]
    for group in (spec["headGroupSpec"], *groups):
        assert group["rayStartParams"]["num-gpus"] == str(made.gpu.per_node)
    assert where.fabric is not None
    for template in pods(job):
        wanted = template["spec"]["containers"][0]["resources"]
        assert wanted["limits"] == wanted["requests"]
        assert wanted["limits"]["nvidia.com/gpu"] == str(made.gpu.per_node)
        assert wanted["limits"]["vpc.amazonaws.com/efa"] == str(where.fabric.devices_per_node)
    assert all(template == pods(job)[0] for template in pods(job))


def test_a_recipe_of_part_of_a_node_asks_for_no_more_gpus_than_it_uses() -> None:
    made = recipe("qwen3.5-4b/h200/openrecipes-dp2-recompute")
    part = made.model_copy(update={"gpu": made.gpu.model_copy(update={"per_node": 8})})
    _, job = rendered_documents(launch(part))
    (template,) = pods(job)
    asked = template["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]
    started = job["spec"]["rayClusterSpec"]["headGroupSpec"]["rayStartParams"]["num-gpus"]
    assert (asked, started) == ("2", "2"), "the preflight of a pod that sees more ends the run"


def test_a_failed_run_ends_once_and_frees_its_gpus() -> None:
    spec = rendered_documents(launch())[1]["spec"]
    assert (spec["backoffLimit"], spec["submitterConfig"]["backoffLimit"]) == (0, 0)
    assert spec["shutdownAfterJobFinishes"] is True
    assert spec["submissionMode"] == "K8sJobMode"
    assert (spec["activeDeadlineSeconds"], spec["preRunningDeadlineSeconds"]) == (7200, 1800)
    assert "enableInTreeAutoscaling" not in spec["rayClusterSpec"]


def test_one_node_has_no_workers_and_a_pod_network_keeps_its_dns() -> None:
    small = recipe().model_copy(update={"gpu": recipe().gpu.model_copy(update={"count": 8})})
    _, job = rendered_documents(launch(small, profile(kubernetes={"host_network": False, "hugepages_2mi": None})))
    assert "workerGroupSpecs" not in job["spec"]["rayClusterSpec"]
    (pod,) = pods(job)
    assert "hostNetwork" not in pod["spec"]
    assert "dnsPolicy" not in pod["spec"]
    assert "hugepages-2Mi" not in pod["spec"]["containers"][0]["resources"]["limits"]


def test_a_secret_is_named_and_its_value_is_nowhere() -> None:
    secret = SecretKey(variable="HF_TOKEN", secret="hub", key="token")
    _, job = rendered_documents(launch(where=profile(kubernetes={"secrets": (secret,)})))
    env = {e["name"]: e for e in pods(job)[0]["spec"]["containers"][0]["env"]}
    assert env["HF_TOKEN"] == {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}
    assert "HF_TOKEN" not in job["spec"]["runtimeEnvYAML"]


def test_no_shell_of_the_submitter_sees_a_dollar_and_no_value_is_lost() -> None:
    odd = {"PLAIN": "a b'c\"d\\e", "DOLLAR": "$HOME and ${X}", "TICK": "`id`", "LINES": "a\nb", "NUMBER": "1"}
    made = recipe().model_copy(update={"env": {**recipe().env, **odd}})
    config, job = rendered_documents(launch(made))
    given = yaml.safe_load(job["spec"]["runtimeEnvYAML"])["env_vars"]
    assert all(isinstance(value, str) for value in given.values())
    assert not set("".join(given.values())) & set("$`")
    assert {n: given[n] for n in ("PLAIN", "LINES", "NUMBER")} == {n: odd[n] for n in ("PLAIN", "LINES", "NUMBER")}
    exports = "\n".join(re.findall(r"^export (?:DOLLAR|TICK)=.*$", config["data"]["node.sh"], re.M))
    ran = subprocess.run(
        ["bash", "-c", f'{exports}\nprintf \'%s|%s\' "$DOLLAR" "$TICK"'], capture_output=True, text=True, check=True
    )
    assert ran.stdout == f"{odd['DOLLAR']}|{odd['TICK']}"
    assert "NCCL_NVLS_ENABLE" not in given
    assert "export NCCL_NVLS_ENABLE=" in config["data"]["node.sh"]


def test_the_entrypoint_is_one_simple_command_and_the_job_has_a_name_that_kuberay_takes() -> None:
    for name, cluster in CASES:
        config, job = documents(rendered_case(name, cluster))
        assert job["spec"]["entrypoint"] == "bash /openrecipes/entry.sh"
        assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?-", job["metadata"]["generateName"])
        assert len(job["metadata"]["generateName"]) + 5 <= 47
        assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", config["metadata"]["name"])
        assert len(config["metadata"]["name"]) <= 63
        mounted = next(v for v in pods(job)[0]["spec"]["volumes"] if v["name"] == "launch")
        assert mounted["configMap"]["name"] == config["metadata"]["name"]


def test_settings_of_ray_and_of_a_hang_are_used() -> None:
    ray = {"cpus_per_node": 96, "object_store_gib": 2.0, "worker_ports": (20000, 20999)}
    config, job = rendered_documents(launch(where=profile(ray=ray, hang={"at_least_seconds": 777})))
    start = job["spec"]["rayClusterSpec"]["headGroupSpec"]["rayStartParams"]
    expected = {"num-cpus": "96", "object-store-memory": "2147483648", "min-worker-port": "20000"}
    assert expected.items() <= start.items()
    assert all(isinstance(value, str) for value in start.values())
    assert "limit=777" in config["data"]["entry.sh"]


def test_equal_launches_are_equal_bytes_and_another_recipe_is_another_config() -> None:
    first, second = KubernetesTarget().render(launch()), KubernetesTarget().render(launch())
    assert first == second
    other = KubernetesTarget().render(launch(recipe().model_copy(update={"env": {"A": "$B"}})))
    assert documents(first)[0]["metadata"]["name"] != documents(other)[0]["metadata"]["name"]


def test_the_yaml_has_no_anchors_and_scripts_stand_in_it_line_by_line() -> None:
    text = "".join(file.text for file in KubernetesTarget().render(launch()).files)
    assert not re.search(r"(^|[\s:-]) ?[&*]id\d+", text)
    assert "  node.sh: |\n    #!/usr/bin/env bash\n" in text
    shared = {"a": "1"}
    assert "&" not in yaml_text({"x": shared, "y": shared})


@pytest.mark.tool("shellcheck")
def test_scripts_are_sound_shell(tmp_path: Path) -> None:
    odd = {"DOLLAR": "$HOME's", "SHELL_VALUE": 'a$(hostname)"b'}
    made = recipe().model_copy(update={"env": {**recipe().env, **odd}})
    config, _ = documents(KubernetesTarget().render(launch(made, allow_shell_env=True)))
    paths = [tmp_path / name for name in ("node.sh", "entry.sh")]
    for path in paths:
        path.write_text(config["data"][path.name], encoding="utf-8")
        subprocess.run(["bash", "-n", str(path)], check=True)
    ran = subprocess.run(["shellcheck", *map(str, paths)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
