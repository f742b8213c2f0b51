"""Changes by `--set`: typed, with an effect, and everything derived again."""

from typing import Any

import pytest
from hypothesis import given, settings
from varied_recipes import changed, layouts, published, smoke

from openrecipes.catalog.models import model
from openrecipes.figures.window import skip_quarter
from openrecipes.problems import ProblemsError, UsageError
from openrecipes.recipe.layout import Recompute
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import parse_recipe
from openrecipes.recipe.result import Result
from openrecipes.recipe.write import plain, recipe_text
from openrecipes.render.command import command, command_text
from openrecipes.render.keys import MAPPINGS, keys
from openrecipes.render.overrides import overridden, shown, value_at, with_overrides
from openrecipes.render.setting_problems import Override

DERIVED = {
    "layout.dp",
    "layout.label",
    "layout.summary",
    "layout.highlights",
    "result.window",
    "result.window_tokens",
    "run",
    "status",
    "correctness",
}


def one(setting: str, recipe: Recipe | None = None) -> Recipe:
    return overridden(recipe or published(), [setting]).recipe


def rules(*given_settings: str, recipe: Recipe | None = None) -> tuple[type[ProblemsError], list[tuple[str, str]]]:
    with pytest.raises(ProblemsError) as caught:
        overridden(recipe or published(), given_settings)
    return type(caught.value), [(problem.place.key, problem.rule) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("layout.tp=4", 4),
        ("layout.sequence_parallel=false", False),
        ("layout.layer_split=[14, 16, 16, 14]", (14, 16, 16, 14)),
        ("layout.recompute=null", None),
        ("layout.recompute.num_layers=3", 3),
        ("layout.offload=optimizer", "optimizer"),
        ("gpu.instance=null", None),
        ("gpu.memory_gb=96.5", 96.5),
        ("author.name=Someone else", "Someone else"),
        ("stack.pytorch=2.12", "2.12"),
        ("stack.cuda=13", "13"),
        ("env.NCCL_DEBUG=INFO", "INFO"),
        ("env.TORCHINDUCTOR_COMPILE_THREADS=4", "4"),
        ("env.EMPTY=", ""),
        ("env.WITH_EQUALS=a=b", "a=b"),
        ("env.WITH_SPACE= a 'b' $C ", " a 'b' $C "),
        ("arguments.lr=2e-5", 2e-5),
        ("arguments.seed=7", 7),
        ("arguments.overlap-grad-reduce=true", True),
        ("arguments.lr_warmup_fraction=null", None),
        ("arguments.offload_modules=[core_attn, attn_proj]", ("core_attn", "attn_proj")),
        ('arguments.train_env_vars={"A": "1"}', '{"A": "1"}'),
        ("workload.global_batch=256", 256),
        ("workload.dataset.build.seed=0", 0),
    ],
)
def test_a_value_is_typed_by_the_recipes_models(setting: str, value: Any) -> None:
    found = value_at(plain(one(setting)), setting.partition("=")[0])
    assert (found, type(found)) == (value, type(value))


def test_nothing_set_changes_nothing() -> None:
    found = overridden(published(), [])
    assert found.recipe == published()
    assert (found.origins, found.deviations) == ({}, ())


def test_dp_label_summary_highlights_and_run_are_derived_again() -> None:
    recipe = overridden(published(), ["layout.tp=4", "layout.max_tokens_per_gpu=9000"]).recipe
    assert recipe.layout.dp == 8
    assert recipe.layout.label == "TP4 PP4 EP32 DP8"
    assert recipe.layout.summary.startswith("TP 4, PP 4, CP 1, EP 32, ETP 1, DP 8, sequence parallel; ")
    assert recipe.layout.highlights == "max 9,000 tokens/GPU, no offload"
    assert recipe.run == command_text(recipe, model(recipe.model))
    assert "--tensor-model-parallel-size 4" in recipe.run


@pytest.mark.parametrize("steps", [2, 14, 15, 20, 1000])
def test_the_window_follows_the_steps_by_the_rule(steps: int) -> None:
    recipe = published() if steps == 14 else one(f"result.steps_per_run={steps}")
    first, last = skip_quarter(steps)
    assert recipe.result.window == (first, last)
    assert recipe.result.window_tokens == (last - first + 1) * 128 * 8192


def test_a_window_that_is_set_stays_and_counts_its_tokens() -> None:
    recipe = overridden(published(), ["result.steps_per_run=30", "result.window=[10, 29]"]).recipe
    assert recipe.result.window == (10, 29)
    assert recipe.result.window_tokens == 20 * 128 * 8192


def test_the_tokens_follow_the_batch() -> None:
    assert one("workload.global_batch=256").result.window_tokens == 10 * 256 * 8192


def test_a_changed_recipe_has_no_figure_no_evidence_and_says_draft() -> None:
    recipe = one("layout.tp=4")
    kept = {"steps_per_run", "window", "window_tokens", "active_params"}
    assert {name for name in Result.model_fields if getattr(recipe.result, name) is not None} == kept
    assert recipe.correctness is None
    assert recipe.status == "draft"
    assert one("arguments.lr=1e-4", smoke()).status == "smoke"
    assert one("arguments.lr=1e-4", smoke()).result.mfu_note == smoke().result.mfu_note


def test_another_gpu_brings_its_memory_and_instance() -> None:
    gpu = one("gpu.type=H100").gpu
    assert (gpu.memory_gb, gpu.instance) == (80, "AWS p5.48xlarge")
    own = overridden(published(), ["gpu.type=H100", "gpu.instance=null", "gpu.memory_gb=94"]).recipe.gpu
    assert (own.memory_gb, own.instance) == (94, None)


def test_another_model_brings_its_active_parameters() -> None:
    recipe = overridden(published(), ["model=Qwen3.5-MoE-mini", "layout.ep=8"]).recipe
    assert recipe.result.active_params.count == model("Qwen3.5-MoE-mini").active_params


def test_rows_of_another_length_are_other_rows() -> None:
    before, recipe = (
        published(),
        overridden(published(), ["workload.row_tokens=4096", "layout.max_tokens_per_gpu=4096"]),
    )
    build = recipe.recipe.workload.dataset.build
    assert (build.name, build.row_tokens) == ("qwen35-tulu3-fixed4096-v1", 4096)
    assert "4,096-token rows" in build.packing
    assert "8,192" not in build.packing
    assert recipe.recipe.workload.dataset.rows_sha256 is None
    assert (build.parquet_sha256, build.parquet_bytes, build.supervised_token_ratio) == (None, None, None)
    assert build.tokenizer == before.workload.dataset.build.tokenizer
    assert one("layout.tp=4").workload == before.workload


@pytest.mark.parametrize(
    ("setting", "rule"),
    [
        ("layout.tpp=4", "set-unknown-key"),
        ("tp=4", "set-unknown-key"),
        ("env=1", "set-unknown-key"),
        ("arguments.=1", "set-unknown-key"),
        ("=1", "set-unknown-key"),
        ("layout.tp", "set-value"),
        ("layout=4", "set-derived"),
        ("layout.label=TP4", "set-derived"),
        ("result.mfu=0.5", "set-derived"),
        ("correctness.result=pass", "set-derived"),
        ("status=verified", "set-derived"),
        ("run=echo", "set-derived"),
        ("layout.tp=2", "set-no-effect"),
        ("layout.dp=16", "set-no-effect"),
        ("layout.layer_split=null", "set-no-effect"),
        ("arguments.lr=1e-5", "set-no-effect"),
        ("arguments.fp16_lm_cross_entropy=false", "set-no-effect"),
        ("arguments.no_such_flag=1", "argument-unknown"),
        ("env.NO_SUCH=null", "set-no-effect"),
        ("env.CUDA_DEVICE_MAX_CONNECTIONS=1", "set-no-effect"),
        ("layout.tp=two", "schema-kind"),
        ("layout.tp=0", "schema-range"),
        ("layout.tp=2.5", "schema-kind"),
        ("layout.sequence_parallel=1", "schema-kind"),
        ("layout.dispatcher=fle", "schema-choice"),
        ("env.A-B=1", "schema-pattern"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_wrong_usage(setting: str, rule: str) -> None:
    kind, found = rules(setting)
    assert (kind, [name for _, name in found]) == (UsageError, [rule])


@pytest.mark.parametrize(
    ("setting", "guess"),
    [
        ("layout.tpp=1", "layout.tp"),
        ("tp=1", "layout.tp"),
        ("env=1", "env.NAME"),
        ("arguments.clip-gradd=1", "arguments.clip_grad"),
    ],
)
def test_an_unknown_key_names_the_nearest(setting: str, guess: str) -> None:
    with pytest.raises(UsageError, match=f"write {guess} "):
        overridden(published(), [setting])


@pytest.mark.parametrize(
    ("settings_", "found"),
    [
        (["layout.dp=8"], [("layout.dp", "layout-dp")]),
        (["layout.tp=3"], [("layout.dp", "layout-gpus")]),
        (["gpu.count=64", "layout.dp=16"], [("layout.dp", "layout-dp")]),
        (["result.steps_per_run=1"], [("result.steps_per_run", "window-steps")]),
        (["result.window=[0, 13]"], [("result.window", "window-steps")]),
        (["result.window=[4, 14]"], [("result.window", "window-steps")]),
        (["arguments.num_layers=2"], [("arguments.num_layers", "argument-model")]),
        (["layout.rows_per_microbatch=2"], [("layout.max_tokens_per_gpu", "layout-max-tokens")]),
    ],
)
def test_settings_that_leave_no_sound_recipe_are_refused(settings_: list[str], found: list[tuple[str, str]]) -> None:
    assert rules(*settings_) == (ProblemsError, found)


def test_what_was_inferred_may_be_said() -> None:
    assert one("arguments.moe_permute_fusion=true").arguments == {"moe_permute_fusion": True}
    assert rules("arguments.moe_permute_fusion=false", recipe=published("tp1-pp4"))[0] is UsageError


def test_an_argument_without_which_there_is_no_command_has_an_effect() -> None:
    others = ["layout.offload=activations", "layout.recompute=null", "env.NVTE_CPU_OFFLOAD_V1=1"]
    recipe = overridden(published(), [*others, "arguments.offload_modules=[core_attn, attn_proj]"]).recipe
    assert "--offload-modules core_attn attn_proj" in recipe.run


def test_an_explicit_dp_that_fits_is_accepted() -> None:
    recipe = overridden(published(), ["layout.tp=4", "layout.dp=8"]).recipe
    assert recipe.layout.dp == 8


def test_all_wrong_settings_are_told_at_once_and_say_where_they_stand() -> None:
    with pytest.raises(UsageError) as caught:
        overridden(published(), ["layout.ttp=1", "nonsense=b", "result.mfu=3", "layout.tp=1", "layout.tp=2"])
    assert [problem.place.key for problem in caught.value.problems] == [
        "layout.tp",
        "layout.ttp",
        "nonsense",
        "result.mfu",
    ]
    assert {problem.place.file for problem in caught.value.problems} == {"--set"}


def test_mistakes_of_every_kind_are_told_at_once() -> None:
    kinds = {
        "layout.ttp=1": "set-unknown-key",
        "layout.tp": "set-value",
        "arguments.lrr=1": "argument-unknown",
        "gpu.count=many": "schema-kind",
        "layout.pp=4": "set-no-effect",
    }
    kind, found = rules(*kinds, "layout.dp=16")
    assert kind is UsageError
    assert sorted(name for _, name in found) == sorted(kinds.values())


def test_what_does_not_follow_is_told_beside_what_has_no_command() -> None:
    found = rules("layout.tp=3", "result.steps_per_run=1", "arguments.num_layers=2")
    assert found == (
        ProblemsError,
        [
            ("layout.dp", "layout-gpus"),
            ("arguments.num_layers", "argument-model"),
            ("result.steps_per_run", "window-steps"),
        ],
    )


def test_the_origin_of_what_is_set_and_derived_is_known() -> None:
    found = overridden(published(), ["layout.tp=4", "arguments.lr=2e-5", "env.X=1"])
    made = command(found.recipe, model(found.recipe.model), found.origins)
    origins = {argument.flag: argument.origin for argument in made.arguments}
    assert origins["--tensor-model-parallel-size"] == "--set layout.tp"
    assert origins["--lr"] == "--set arguments.lr"
    assert {value.name: value.origin for value in made.environment}["X"] == "--set env.X"
    assert found.origins["layout.dp"] == "derived: gpu.count / (tp x pp x cp)"


def test_deviations_say_what_was_and_what_is() -> None:
    found = overridden(published(), ["layout.tp=4", "arguments.lr=2e-5", "env.X=1", "layout.recompute=null"])
    assert found.deviations == (
        "layout.tp=4 (--set; the recipe has 2)",
        "arguments.lr=2e-5 (--set; published default 1e-5)",
        "env.X=1 (--set; not in the recipe)",
        "layout.recompute=null (--set; the recipe has {granularity: full, method: uniform, num_layers: 1})",
    )


def test_a_cluster_profiles_changes_carry_its_name_and_may_say_what_is() -> None:
    profile = [
        Override(key="env.CUDA_DEVICE_MAX_CONNECTIONS", text="1", source="cluster profile p5en"),
        Override(key="arguments.attention_backend", text="fused", source="cluster profile p5en"),
    ]
    found = with_overrides(published(), profile)
    assert found.deviations == ("arguments.attention_backend=fused (cluster profile p5en; published default flash)",)
    assert found.origins["arguments.attention_backend"] == "cluster profile p5en arguments.attention_backend"


def test_the_callers_change_wins_over_the_profiles() -> None:
    changes = [
        Override(key="arguments.lr", text="0.002", source="cluster profile p5en"),
        Override(key="arguments.lr", text="0.003"),
    ]
    found = with_overrides(published(), changes)
    assert found.recipe.arguments == {"lr": 0.003}
    assert found.deviations == ("arguments.lr=0.003 (--set; published default 1e-5)",)


def test_the_recipes_spelling_of_an_argument_is_kept() -> None:
    recipe = changed(published(), {"arguments": {"min_lr": 1e-7}})
    assert one("arguments.min-lr=1e-8", recipe).arguments == {"min_lr": 1e-8}


def test_an_environment_variable_is_taken_away_by_null() -> None:
    assert "NCCL_NVLS_ENABLE" not in one("env.NCCL_NVLS_ENABLE=null").env


def test_a_block_that_was_null_is_filled_key_by_key() -> None:
    recipe = changed(published(), {"layout.recompute": None})
    full = [f"layout.recompute.{text}" for text in ("granularity=full", "method=block", "num_layers=2")]
    found_block = overridden(recipe, full).recipe.layout.recompute
    assert found_block == Recompute(granularity="full", method="block", num_layers=2)
    kind, found = rules(full[0], recipe=recipe)
    assert kind is UsageError
    assert {key for key, _ in found} == {"layout.recompute.method", "layout.recompute.num_layers"}


def test_a_changed_recipe_is_sound_canonical_text() -> None:
    recipe = overridden(published(), ["layout.tp=4", "arguments.lr=2e-5"]).recipe
    path = "recipes/qwen3.5-397b-a17b/h200/x.yaml"
    located = parse_recipe(recipe_text(recipe, path), path)
    assert located.problems == ()
    assert located.recipe == recipe


def test_every_key_is_known_once() -> None:
    assert len(set(keys())) == len(keys()) > 90
    assert not set(MAPPINGS) & set(keys())


@given(changes=layouts())
@settings(max_examples=60, deadline=None)
def test_settings_do_what_the_same_fields_in_the_file_do(changes: dict[str, Any]) -> None:
    before = plain(published())
    flat: dict[str, Any] = {}
    for key, value in changes.items():
        flat |= {f"{key}.{name}": item for name, item in value.items()} if isinstance(value, dict) else {key: value}
    texts = [f"{key}={shown(value)}" for key, value in flat.items() if value_at(before, key) != value]
    found = overridden(published(), texts).recipe if texts else published()
    expected = changed(published(), changes)
    assert command(found, model(found.model)).argv() == command(expected, model(expected.model)).argv()
    first, last = skip_quarter(found.result.steps_per_run)
    assert found.result.window == (first, last)
    assert found.layout.dp * found.layout.tp * found.layout.pp * found.layout.cp == found.gpu.count


def test_a_key_that_stands_there_as_null_is_in_the_recipe() -> None:
    assert published().layout.offload is None
    (told,) = overridden(published(), ["layout.offload=optimizer"]).deviations
    assert told == "layout.offload=optimizer (--set; the recipe has null)"


@pytest.mark.parametrize(
    ("setting", "said", "mend"),
    [
        ("foo", "--set foo: is no KEY=VALUE, and no key of a recipe", "write --set KEY=VALUE; "),
        ("tp", "--set tp: is no KEY=VALUE, and no key of a recipe", "write layout.tp=VALUE"),
        ("=3", "--set: names no key", "write KEY=VALUE"),
        ("tp=3", "--set tp: is no key of a recipe", "write layout.tp"),
        ("layout.tp", "--set layout.tp: has no value", "write --set layout.tp=VALUE"),
    ],
)
def test_a_setting_of_another_form_is_told_the_form(setting: str, said: str, mend: str) -> None:
    with pytest.raises(UsageError) as refused:
        overridden(published(), [setting])
    (problem,) = refused.value.problems
    assert str(problem).startswith(said)
    assert problem.mend.startswith(mend)
