"""How to run a recipe: commands that are commands, for the targets that can hold it."""

import shlex

import pytest
from varied_recipes import changed, published, smoke

from openrecipes.shipped import shipped
from openrecipes.site.ways import ways


def test_a_published_recipe_names_the_shipped_profiles_of_its_instance() -> None:
    found = ways(published(), "m/g/r")
    assert [way.where for way in found] == ["Hosts that you reach by ssh", "Slurm", "Kubernetes"]
    for way in found:
        for line in way.commands.splitlines():
            words = shlex.split(line)
            assert words[0] == "openrecipes"
            profile = words[words.index("--cluster") + 1]
            assert shipped(*profile.split("/")).is_file()


def test_one_nodes_recipe_runs_here_too_and_smoke_only_here() -> None:
    small = changed(published(), {"gpu.count": 8, "gpu.instance": None})
    assert ways(small, "m/g/r")[0].where == "This machine"
    assert "--cluster CLUSTER.yaml" in ways(small, "m/g/r")[2].commands
    assert [way.commands for way in ways(smoke(), "m/g/r")] == ["openrecipes run m/g/r"]


@pytest.mark.parametrize("instance", ["AWS ../../etc/passwd.x", "AWS x", "p5en", "AWS p9.48xlarge", "A\u202eB c.d"])
def test_an_instance_without_a_profile_leaves_the_word(instance: str) -> None:
    assert "--cluster CLUSTER.yaml" in ways(changed(published(), {"gpu.instance": instance}), "m/g/r")[1].commands


def test_a_hostile_name_stays_one_word() -> None:
    name = "m/g/a; rm -rf $HOME `x`"
    for way in ways(published(), name):
        assert all(name in shlex.split(line) for line in way.commands.splitlines())
