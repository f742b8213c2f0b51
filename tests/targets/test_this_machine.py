import pytest
from smoke_recipe import smoke_recipe

from openrecipes.catalog.models import model
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import read_recipe
from openrecipes.render.command import command
from openrecipes.shipped import shipped
from openrecipes.stack import capture
from openrecipes.targets.container import Container
from openrecipes.targets.profile import THIS_MACHINE
from openrecipes.targets.target import Launch
from openrecipes.targets.this_machine import Machine, machine_refusals, python_refusals, this_machine

SMOKE = frozenset({"torch", "transformers"})
PUBLISHED = ("recipes", "qwen3.5-397b-a17b", "h200", "attune-tp2-pp4-ep32.yaml")


def machine(*gpus: str, cpus: int = 2, modules: frozenset[str] = SMOKE) -> Machine:
    return Machine(gpus=gpus, cpus=cpus, modules=modules)


def launch(recipe: Recipe, python: str = "python3") -> Launch:
    found = model(recipe.model)
    profile = THIS_MACHINE.model_copy(update={"python": python})
    return Launch(recipe=recipe, model=found, command=command(recipe, found), profile=profile)


def test_128_h200_on_a_machine_without_gpus_says_what_is_here_and_what_is_needed():
    published = read_recipe(shipped(*PUBLISHED)).recipe
    (problem,) = machine_refusals(launch(published), machine())
    assert problem.what == "128 x H200 needed, but this machine has no GPU, 2 CPUs"
    assert (problem.rule, problem.severity, problem.place.key) == ("target-gpus", "error", "gpu.count")


@pytest.mark.parametrize(
    ("gpus", "is_refused"),
    [
        (["NVIDIA H200"] * 2, False),
        (["NVIDIA H200"], True),
        (["NVIDIA H100 80GB HBM3"] * 2, True),
        (["NVIDIA GH200 480GB"] * 2, True),
        (["NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA H200"], False),
    ],
)
def test_gpus_are_counted_by_their_type(gpus, is_refused):
    recipe = smoke_recipe(gpu={"type": "H200", "memory_gb": 141, "count": 2, "per_node": 8})
    found = [problem.rule for problem in machine_refusals(launch(recipe), machine(*gpus))]
    assert found == (["target-gpus"] if is_refused else [])


def test_more_ranks_than_cpus_is_a_warning():
    (problem,) = machine_refusals(launch(smoke_recipe()), machine(cpus=1))
    assert (problem.rule, problem.severity) == ("target-cpus", "warning")
    assert not list(machine_refusals(launch(smoke_recipe()), machine()))


def test_the_smoke_trainers_packages_must_be_there():
    (problem,) = machine_refusals(launch(smoke_recipe()), machine(modules=frozenset({"torch"})))
    assert problem.what == "the smoke trainer needs transformers, not installed here"
    elsewhere = launch(smoke_recipe(), python="/opt/venv/bin/python")
    assert not list(machine_refusals(elsewhere, machine(modules=frozenset())))


def test_an_interpreter_that_is_not_here_is_told():
    (problem,) = python_refusals(THIS_MACHINE.model_copy(update={"python": "/no/such/python"}))
    assert (problem.rule, problem.what) == ("target-python", "/no/such/python is no program that can be started here")
    assert not list(python_refusals(THIS_MACHINE))
    container = Container(runtime="docker", image="a@sha256:" + "0" * 64)
    inside = THIS_MACHINE.model_copy(update={"python": "/no/such/python", "container": container})
    assert not list(python_refusals(inside))


@pytest.mark.parametrize(
    ("devices", "expected"),
    [(None, "ABC"), ("", ""), ("2,0", "CA"), ("1,7,0", "B"), ("-1", ""), ("GPU-8932f937", "A")],
)
def test_only_visible_gpus_count(monkeypatch, devices, expected):
    monkeypatch.setattr(capture, "gpus", lambda errors: [{"name": name} for name in "ABC"])
    found = this_machine({} if devices is None else {"CUDA_VISIBLE_DEVICES": devices})
    assert "".join(found.gpus) == expected


def test_a_broken_driver_is_named_and_not_taken_for_no_gpu(monkeypatch):
    monkeypatch.setattr(capture, "gpus", lambda errors: errors.update({"nvidia-smi": "exit status 18"}) or [])
    found = this_machine({})
    assert "nvidia-smi failed (exit status 18)" in found.words
