import json

import pytest
from called import Called, openrecipes

from openrecipes.plan.document import recipe_document
from openrecipes.plan.layout_plan import plan_recipe
from openrecipes.problems import ProblemsError
from openrecipes.recipe.read import read_recipe
from openrecipes.render.overrides import overridden
from openrecipes.shipped import shipped

FOLDER = "qwen3.5-397b-a17b/h200"
PUBLISHED = ("attune-tp1-pp4-ep32", "attune-tp2-pp2-ep64", "attune-tp2-pp4-ep32")


def recipe(name: str, *settings: str):
    return overridden(read_recipe(shipped("recipes", *FOLDER.split("/"), f"{name}.yaml")).recipe, settings).recipe


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_layout_fits_its_gpu(name):
    plan = plan_recipe(recipe(name)).layout
    assert plan.fits
    assert plan.worst is not None
    assert plan.worst.instant == "loss"
    assert plan.worst.stage == plan.placement.pp - 1


def test_all_experts_on_eight_gpus_do_not_fit():
    crowded = recipe(
        "attune-tp2-pp4-ep32", "layout.tp=1", "layout.pp=1", "layout.ep=8", "layout.sequence_parallel=false"
    )
    plan = plan_recipe(crowded).layout
    assert not plan.why_not
    assert not plan.fits
    assert plan.worst is not None
    assert plan.worst.peak > 300


def test_an_illegal_layout_is_explained_and_not_planned():
    plan = plan_recipe(recipe("attune-tp2-pp4-ep32", "layout.ep=3"))
    assert plan.layout.why_not == (
        "layout.ep: etp 1 x ep 3 x pp 4 = 12 does not divide 128 GPUs [layout-expert-gpus]",
        "layout.ep: ep 3 does not divide the model's 512 experts [layout-experts]",
    )
    document = recipe_document(plan, imbalance=1.5)
    assert document["layouts"][0]["memory_gib"] is None
    assert not document["layouts"][0]["legal"]


def test_an_uneven_split_moves_layers_and_their_memory():
    even = plan_recipe(recipe("attune-tp2-pp4-ep32")).layout.stages
    uneven = plan_recipe(recipe("attune-tp2-pp4-ep32", "layout.layer_split=[16, 15, 15, 14]")).layout.stages
    assert [stage.layers for stage in uneven] == [16, 15, 15, 14]
    assert uneven[3].peak < even[3].peak
    assert uneven[0].peak > even[0].peak


@pytest.mark.parametrize(
    ("setting", "direction"),
    [
        ("arguments.use_precision_aware_optimizer=false", 1),
        ("arguments.log_probs_chunk_size=1024", -1),
        ("arguments.exp_avg_dtype=bf16", -1),
        ("layout.offload=optimizer", -1),
    ],
)
def test_arguments_change_the_peak_in_their_direction(setting, direction):
    before = plan_recipe(recipe("attune-tp2-pp4-ep32")).layout.worst
    after = plan_recipe(recipe("attune-tp2-pp4-ep32", setting)).layout.worst
    assert before is not None
    assert after is not None
    assert (after.peak - before.peak) * direction > 1


def test_the_smoke_recipe_has_no_gpu_memory_to_plan():
    smoke = read_recipe(shipped("recipes", "qwen3.5-moe-mini", "cpu", "smoke-dp2.yaml")).recipe
    with pytest.raises(ProblemsError) as caught:
        plan_recipe(smoke)
    assert caught.value.problems[0].rule == "plan-gpu"


def run(*arguments: str) -> Called:
    return openrecipes("plan", *arguments)


def test_the_verb_prints_the_terms_and_says_that_it_fits():
    done = run(f"{FOLDER}/attune-tp2-pp4-ep32", "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    document = json.loads(done.stdout)
    (layout,) = document["layouts"]
    assert layout["fits"]
    assert (layout["tp"], layout["pp"], layout["ep"], layout["dp"]) == (2, 4, 32, 16)
    assert document["usable_memory_gib"] == pytest.approx(140.4, abs=0.01)
    for stage in layout["stages"]:
        assert sum(term["gib"] for term in stage["terms"]) == pytest.approx(stage["memory_gib"]["peak"], rel=1e-6)
        assert {"name", "gib", "formula", "source"} == set(stage["terms"][0])


def test_the_verb_ends_with_1_where_a_layout_does_not_fit():
    done = run(f"{FOLDER}/attune-tp2-pp4-ep32", "--set", "gpu.type=H100")
    assert done.returncode == 1
    assert "does not fit: 71.9 GiB allocated peak + 8.0 GiB overhead = 79.9 of 79.6 GiB" in done.stdout


def test_the_verb_wants_a_recipe_or_a_model_on_gpus():
    for arguments in ((), ("--model", "Qwen3-32B"), (f"{FOLDER}/attune-tp2-pp4-ep32", "--gpus", "8")):
        done = run(*arguments)
        assert done.returncode == 2
        assert done.stdout == ""
        assert "mend: name a recipe, or a model, a GPU and how many of them   [usage]" in done.stderr
