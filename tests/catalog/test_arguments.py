import pytest

from openrecipes.catalog.arguments import argument_catalogue, stack_id_of, stack_ids, stack_parser
from openrecipes.catalog.models import all_models
from openrecipes.problems import UsageError

STACK = "slime-a897e1f4+megatron-1dcf0daf"
# As the published recipes write them.
FRAMEWORK = "slime 0.3.0: THUDM/slime a897e1f plus 8 commits that do not change the training step"
MEGATRON = (
    "commit 1dcf0daf (megatron-core 0.16.0rc0), with a backported upstream fix for the Qwen3.5 attention output gate"
)


def test_the_pinned_stack_has_857_arguments_under_889_flags() -> None:
    catalogue = argument_catalogue(STACK)
    assert stack_ids() == (STACK,)
    assert len(catalogue.arguments) == 857
    assert len(catalogue.parser.by_flag) == sum(len(argument.flags) for argument in catalogue.arguments) == 889
    assert catalogue.slime.startswith("a897e1f4")
    assert catalogue.megatron_lm.startswith("1dcf0daf")
    assert sum(argument.defined_by == "slime" for argument in catalogue.arguments) == 198


def test_defaults_that_surprise_are_the_parsers_own() -> None:
    find = argument_catalogue(STACK).parser.find
    expected = {"--attention-dropout": 0.1, "--hidden-dropout": 0.1, "--lr": 1e-6, "--loss-mask-type": "qwen",
                "--moe-router-topk": 2, "--adam-beta2": 0.999, "--attention-backend": "auto"}  # fmt: skip
    for flag, default in expected.items():
        argument = find(flag)
        assert argument is not None
        assert argument.default == default


def test_kinds_and_counts_of_values_are_those_of_the_parser() -> None:
    find = argument_catalogue(STACK).parser.find
    kinds = {"--rotary-base": "int", "--lr": "float", "--moe-layer-freq": "layer_pattern", "--train-env-vars": "json",
             "--attention-backend": "enum", "--window-size": "int_tuple", "--spec": "text"}  # fmt: skip
    for flag, kind in kinds.items():
        argument = find(flag)
        assert argument is not None
        assert (argument.action, argument.value) == ("store", kind)
    spec, ramp, backend = find("--spec"), find("--rampup-batch-size"), find("--attention-backend")
    assert spec is not None
    assert ramp is not None
    assert backend is not None
    assert (spec.nargs, ramp.nargs) == ("*", 3)
    assert backend.choices == ("flash", "fused", "unfused", "local", "auto")


def test_switches_take_no_value() -> None:
    for argument in argument_catalogue(STACK).arguments:
        assert (argument.value is None) == (argument.action != "store")
        assert argument.action == "store" or argument.nargs is None


def test_a_misspelt_flag_is_unknown_and_its_neighbour_is_named() -> None:
    catalogue = argument_catalogue(STACK).parser
    assert catalogue.find("--max-tokens-per-gpuu") is None
    assert catalogue.nearest("--max-tokens-per-gpuu") == "--max-tokens-per-gpu"
    assert catalogue.find("--async") is None
    assert catalogue.find("--max-tokens") is None
    assert catalogue.nearest("--zzzzzzzz") is None


def test_every_spelling_finds_the_same_argument() -> None:
    find = argument_catalogue(STACK).parser.find
    assert find("--offload-train") is find("--no-offload-train")
    assert find("--override-opt_param-scheduler") is find("--override-opt-param-scheduler")


def test_every_models_arguments_are_known_with_as_many_values() -> None:
    catalogue = argument_catalogue(STACK).parser
    checked = 0
    for model in all_models():
        for argument in model.architecture_arguments():
            known = catalogue.find(argument.flag)
            assert known is not None, argument.flag
            assert len(argument.values) == (2 if argument.flag == "--spec" else known.action == "store"), argument.flag
            if known.value == "int":
                assert argument.values[0].isdigit(), argument
            if known.value == "float":
                assert float(argument.values[0]) >= 0
            if known.choices is not None:
                assert argument.values[0] in known.choices
            checked += 1
    assert checked > 100


def test_a_recipes_stack_names_its_catalogue_by_commit() -> None:
    assert stack_id_of(FRAMEWORK, MEGATRON) == STACK
    assert stack_id_of("slime a897e1f40357fdf3b148f1eb4ce26e1aeccfcd2c", "1dcf0dafa884") == STACK
    assert stack_id_of("slime 0.3.0", MEGATRON) is None
    assert stack_id_of(FRAMEWORK, "commit 1dcf0dae") is None
    assert stack_id_of(FRAMEWORK.replace("a897e1f", "a897e2f"), MEGATRON) is None


def test_an_unknown_stack_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"slime-a897e1f4\+megatron-1dcf0daf"):
        argument_catalogue("slime-12345678+megatron-1dcf0daf")
    with pytest.raises(UsageError):
        argument_catalogue("../gpus")


def test_the_parser_alone_has_the_arguments_of_the_catalogue() -> None:
    alone, whole = stack_parser(STACK), argument_catalogue(STACK).parser
    assert alone.drops_unknown == whole.drops_unknown
    assert list(alone.by_flag) == list(whole.by_flag)
    assert all(alone.find(flag) == argument for flag, argument in whole.by_flag.items())
    assert alone.find("--no-such") is None
    assert "--no-such" not in alone.by_flag
    with pytest.raises(UsageError):
        stack_parser("../gpus")
