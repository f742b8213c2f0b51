import pytest
from varied_recipes import PUBLISHED, published

from openrecipes.catalog.arguments import argument_catalogue, stack_ids
from openrecipes.catalog.models import all_models
from openrecipes.check.couplings import COUPLINGS, SURPRISING_DEFAULTS, coupling_faults, default_faults
from openrecipes.check.flag_values import flag_faults
from openrecipes.recipe.read import read_recipe
from openrecipes.render.command import command

PARSER = argument_catalogue(stack_ids()[0]).parser


def faults(text: str) -> list[str]:
    flag, *values = text.split(" ") if "|" not in text else text.split("|")
    return [f"{fault.rule}: {fault.what}" for fault in flag_faults(PARSER, flag, values)]


@pytest.mark.parametrize(
    "text",
    [
        "--lr 1e-5",
        "--lr -1",
        "--min-lr 0",
        "--rotary-base 10000000",
        "--sequence-parallel",
        "--no-rope-fusion",
        "--disable-bias-linear",
        "--spec slime_plugins.models.qwen3_5 get_qwen3_5_spec",
        "--spec",
        "--moe-layer-freq [1]*60",
        "--moe-layer-freq [0]*3+[1]*58",
        "--moe-layer-freq ([0]+[1])*30",
        "--moe-layer-freq 2",
        "--attention-backend flash",
        "--optimizer adam",
        "--recompute-modules core_attn moe",
        "--rampup-batch-size 32 32 1000",
        "--train-env-vars {}",
        '--train-env-vars|{"A": "b c"}',
        "--window-size 8,128",
        "--moe-aux-loss-coeff 0",
        "--offload-train",
        "--no-offload-train",
        "--exit-signal SIGTERM",
    ],
)
def test_what_the_trainer_accepts_is_accepted(text: str) -> None:
    assert faults(text) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("--max-tokens-per-gpuu 99", "argument-unknown: the trainer has no --max-tokens-per-gpuu and would drop it"),
        ("--async", "argument-unknown: the trainer has no --async"),
        ("--sglang-context-length 4096", "argument-void: --sglang-context-length is for the inference engine"),
        ("--lr", "argument-count: --lr has no value"),
        ("--lr 1 2", "argument-count: --lr 1 2, but --lr takes 1 value"),
        (
            "--sequence-parallel true",
            "argument-count: --sequence-parallel true, but --sequence-parallel takes no value",
        ),
        ("--rampup-batch-size 1 2", "argument-count: --rampup-batch-size 1 2, but --rampup-batch-size takes 3 values"),
        ("--recompute-modules", "argument-count: --recompute-modules has no value"),
        ("--rotary-base 1e7", "argument-value: --rotary-base 1e7, but it takes a whole number"),
        ("--lr fast", "argument-value: --lr fast, but it takes a number"),
        ("--loss-type foo", "argument-value: --loss-type foo, but it takes one of policy_loss, sft_loss, custom_loss"),
        ("--attention-backend flsh", "argument-value: --attention-backend flsh, but it takes one of flash, fused"),
        ("--train-env-vars {", "argument-value: --train-env-vars {, but it takes a JSON text"),
        ("--moe-layer-freq|[1, 1]", 'argument-spaces: --moe-layer-freq "[1, 1]" holds spaces'),
        (
            "--moe-layer-freq __import__('os')",
            "argument-value: --moe-layer-freq __import__('os'), but it takes a number, or a list",
        ),
        ("--onnx-safe False", "argument-value: --onnx-safe False: the parser takes any text for true"),
        ("--micro-batch-size " + "9" * 5000, "argument-value: --micro-batch-size 999"),
        ("--train-env-vars " + "[" * 100_000, "argument-value: --train-env-vars [[["),
    ],
)
def test_what_the_trainer_refuses_or_drops_is_told(text: str, fault: str) -> None:
    (found,) = faults(text)
    assert found.startswith(fault)
    assert len(found) < 300


def test_an_unknown_flag_names_the_nearest() -> None:
    (fault,) = flag_faults(PARSER, "--tensor-model-paralel-size", ["2"])
    assert fault.mend == "write --tensor-model-parallel-size, or remove it"


def test_a_whole_number_is_the_mend_of_a_float() -> None:
    (fault,) = flag_faults(PARSER, "--rotary-base", ["1e7"])
    assert fault.mend == "write 10000000"


def test_a_variables_value_is_not_judged() -> None:
    assert list(flag_faults(PARSER, "--rotary-base", [None])) == []


def test_every_flag_of_every_model_and_published_recipe_is_known() -> None:
    seen = 0
    for found in all_models():
        for argument in found.architecture_arguments():
            assert list(flag_faults(PARSER, argument.flag, argument.values)) == [], argument
            seen += 1
    for path in PUBLISHED:
        recipe = read_recipe(path).recipe
        made = command(recipe, next(m for m in all_models() if m.name == recipe.model))
        for item in made.arguments:
            assert list(flag_faults(PARSER, item.flag, item.values)) == [], item
            seen += 1
    assert seen > 200


def test_couplings_name_flags_that_the_trainer_has() -> None:
    for coupling in COUPLINGS:
        for flag, values in ((coupling.flag, coupling.values), (coupling.other, coupling.others)):
            argument = PARSER.find(flag)
            assert argument is not None, flag
            for value in values:
                assert argument.choices is None or value in argument.choices, (flag, value)
    assert len(COUPLINGS) > 30


def test_surprising_defaults_are_the_trainers_own() -> None:
    for flag, (default, _) in SURPRISING_DEFAULTS.items():
        argument = PARSER.find(flag)
        assert argument is not None
        assert str(argument.default) == default
    mask = PARSER.find("--loss-mask-type")
    assert mask is not None
    assert mask.default == "qwen"


@pytest.mark.parametrize("coupling", COUPLINGS, ids=lambda c: f"{c.flag} {c.kind} {c.other}")
def test_each_coupling_is_broken_and_kept(coupling: object) -> None:
    from openrecipes.check.couplings import Coupling

    assert isinstance(coupling, Coupling)
    flag = {coupling.flag: coupling.values[:1]}
    other = {coupling.other: coupling.others[:1]}
    together, alone = {**other, **flag}, dict(flag)
    broken, kept = (alone, together) if coupling.kind == "needs" else (together, alone)

    def told(effective: dict[str, tuple[str, ...]]) -> list[str]:
        return [f.what for f in coupling_faults(effective) if f.flag == coupling.flag and coupling.why in f.what]

    assert len(told(broken)) == 1
    assert told(kept) == []


def test_a_published_command_breaks_no_coupling_and_leaves_no_default() -> None:
    recipe = published()
    made = command(recipe, next(m for m in all_models() if m.name == recipe.model))
    effective = {argument.flag: argument.values for argument in made.arguments}
    assert list(coupling_faults(effective)) == []
    assert list(default_faults(effective, known=PARSER.by_flag, loss_mask="qwen3_5")) == []
