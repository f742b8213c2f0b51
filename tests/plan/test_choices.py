import pytest

from openrecipes.catalog.models import model
from openrecipes.plan.choices import choices, choices_of
from openrecipes.plan.placement import FULL, Recomputation
from openrecipes.plan.search import published_choices
from openrecipes.problems import ProblemsError
from openrecipes.recipe.read import read_recipe
from openrecipes.render.command import command
from openrecipes.shipped import shipped


def published(name: str):
    recipe = read_recipe(shipped("recipes", "qwen3.5-397b-a17b", "h200", f"{name}.yaml")).recipe
    return choices(command(recipe, model(recipe.model)))


def test_the_published_arguments_say_precision_aware_and_full_recompute():
    found = published("attune-tp2-pp4-ep32")
    assert (found.gradient_bytes, found.moment_bytes, found.master_bytes) == (4, (4, 4), 2)
    assert found.recompute == FULL
    assert found.permute_fusion
    assert found.output_gate
    assert found.qk_norm
    assert found.shared_expert_gate
    assert found.attention_backend == "flash"
    assert found.notes == ()


def test_only_one_of_the_published_fuses_the_permutation():
    assert [published(n).permute_fusion for n in ("attune-tp1-pp4-ep32", "attune-tp2-pp2-ep64")] == [False, False]


def test_the_search_assumes_what_the_first_published_recipe_says():
    found, first = published_choices(model("Qwen3.5-397B-A17B")), published("attune-tp2-pp4-ep32")
    assert found.recompute != first.recompute
    assert {name: getattr(found, name) for name in _MEMORY} == {name: getattr(first, name) for name in _MEMORY}


_MEMORY = (
    "gradient_bytes",
    "moment_bytes",
    "master_bytes",
    "permute_fusion",
    "attention_backend",
    "qk_norm",
    "output_gate",
    "shared_expert_gate",
    "rotary_percent",
    "pad_multiplier",
)


def test_flags_decide_bytes():
    found = choices_of(
        {
            "--use-precision-aware-optimizer": (),
            "--main-grads-dtype": ("bf16",),
            "--exp-avg-dtype": ("fp8",),
            "--exp-avg-sq-dtype": ("bf16",),
            "--log-probs-chunk-size": ("512",),
        }
    )
    assert (found.gradient_bytes, found.moment_bytes, found.master_bytes) == (2, (1, 2), 2)
    assert found.loss_chunk == 512
    assert choices_of({}).master_bytes == 4


def test_selective_recompute_without_modules_is_core_attention():
    found = choices_of({"--recompute-granularity": ("selective",)}).recompute
    assert found == Recomputation(granularity="selective", modules=frozenset({"core_attn"}))


def test_what_is_not_modelled_is_said():
    assert choices_of({"--mtp-num-layers": ("1",)}).notes == (
        "--mtp-num-layers: multi-token prediction layers are not counted",
    )


def test_values_that_cannot_be_read_are_all_named():
    with pytest.raises(ProblemsError) as caught:
        choices_of(
            {
                "--log-probs-chunk-size": ("abc",),
                "--exp-avg-dtype": ("foo",),
                "--data-pad-size-multiplier": ("0",),
                "--rollout-temperature": ("nan",),
            }
        )
    assert [problem.what for problem in caught.value.problems] == [
        "0 for --data-pad-size-multiplier is not a whole number from 1 up",
        "foo for --exp-avg-dtype is not one of fp32, fp16, bf16, fp8",
        "abc for --log-probs-chunk-size is not a whole number from -1 up",
        "nan for --rollout-temperature is not a positive number",
    ]
    assert {problem.place.key for problem in caught.value.problems} > {"arguments.exp_avg_dtype"}
