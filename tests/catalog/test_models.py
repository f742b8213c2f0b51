from typing import Any

import pytest
from pydantic import ValidationError

from openrecipes.catalog.model_document import model_document
from openrecipes.catalog.models import Model, all_models, hf_config, model, model_from
from openrecipes.problems import UsageError

BIG = "Qwen3.5-397B-A17B"


def entry_of(name: str, **changes: Any) -> dict[str, Any]:
    """An entry's data, with config fields changed; None removes one."""
    data = model(name).entry.model_dump(mode="json")
    fields = {**data["config"], **changes}
    return {**data, "config": {key: value for key, value in fields.items() if value is not None}}


def test_qwen35_397b_has_the_published_counts() -> None:
    assert model(BIG).params == 396_346_350_336
    assert model(BIG).active_params == 16_331_407_360


def test_params_and_active_params_are_sums_over_the_table() -> None:
    for entry in all_models():
        table = entry.parameter_table()
        assert entry.params == sum(row.count for row in table)
        assert entry.active_params == sum(row.active_count for row in table)
        for row in table:
            assert (row.active_count == 0) == bool(row.why_not_active)
            assert row.active_count <= row.count


def test_only_matrices_that_are_multiplied_are_active() -> None:
    inactive = {row.name for row in model(BIG).tensors if row.why_not_active}
    assert "model.embed_tokens.weight" in inactive
    assert "lm_head.weight" not in inactive
    assert all(
        len(row.shape) == 1 for row in model(BIG).tensors if row.name in inactive - {"model.embed_tokens.weight"}
    )


def test_the_mini_model_has_a_few_million_parameters_besides_embeddings() -> None:
    mini = model("Qwen3.5-MoE-mini")
    rest = mini.params - 2 * mini.shape.vocab_size * mini.shape.hidden_size
    assert 1_000_000 < rest < 10_000_000
    assert [layer.mixer for layer in mini.shape.layers] == ["linear_attention"] * 3 + ["full_attention"]


def test_qwen35_397b_arguments_are_those_of_its_config() -> None:
    argv = model_document(model(BIG))["model_args"]
    pairs = {
        "--num-layers": "60", "--hidden-size": "4096", "--ffn-hidden-size": "1024", "--num-attention-heads": "32",
        "--num-query-groups": "2", "--kv-channels": "256", "--norm-epsilon": "1e-6", "--rotary-percent": "0.25",
        "--rotary-base": "10000000", "--vocab-size": "248320", "--num-experts": "512", "--moe-router-topk": "10",
        "--moe-ffn-hidden-size": "1024", "--moe-shared-expert-intermediate-size": "1024", "--moe-layer-freq": "[1]*60",
        "--moe-router-score-function": "softmax", "--moe-router-dtype": "fp32", "--moe-aux-loss-coeff": "0",
        "--moe-token-drop-policy": "probs", "--normalization": "RMSNorm", "--position-embedding-type": "rope",
    }  # fmt: skip
    switches = {
        "--group-query-attention", "--qk-layernorm", "--attention-output-gate", "--use-gated-attention",
        "--disable-bias-linear", "--apply-layernorm-1p", "--swiglu", "--untie-embeddings-and-output-weights",
        "--moe-shared-expert-gate",
    }  # fmt: skip
    for flag, value in pairs.items():
        assert argv[argv.index(flag) + 1] == value
    assert argv[:3] == ["--spec", "slime_plugins.models.qwen3_5", "get_qwen3_5_spec"]
    assert {word for word in argv if word.startswith("--")} == set(pairs) | switches | {"--spec"}


def test_performance_choices_are_not_the_models() -> None:
    for entry in all_models():
        flags = {argument.flag for argument in entry.architecture_arguments()}
        assert not flags & {"--moe-token-dispatcher-type", "--moe-permute-fusion", "--moe-grouped-gemm"}


def test_no_argument_is_repeated_and_none_has_a_space_or_no_origin() -> None:
    for entry in all_models():
        arguments = entry.architecture_arguments()
        assert len({argument.flag for argument in arguments}) == len(arguments)
        for argument in arguments:
            assert argument.origin.startswith(("config.json:", "architecture: ", "slime convention: "))
            assert not any(" " in value for value in argument.values)


def test_config_origins_name_fields_of_the_config() -> None:
    checked = 0
    for entry in all_models():
        for argument in entry.architecture_arguments():
            if argument.origin.startswith("config.json:"):
                found: Any = hf_config(entry)
                for part in argument.origin.removeprefix("config.json:").split("."):
                    assert part in found, (entry.name, argument)
                    found = found[part]
                checked += 1
    assert checked > 30


def test_a_tied_embedding_is_counted_once_and_as_the_head() -> None:
    untied = model("Qwen3.5-MoE-mini")
    tied: Model = model_from(entry_of("Qwen3.5-MoE-mini", tie_word_embeddings=True))
    matrix = untied.shape.vocab_size * untied.shape.hidden_size
    assert tied.params == untied.params - matrix
    assert tied.active_params == untied.active_params
    flags = {argument.flag for argument in tied.architecture_arguments()}
    assert "--untie-embeddings-and-output-weights" not in flags


def test_names_are_found_in_any_case_and_unknown_ones_name_the_nearest() -> None:
    assert model("qwen3.5-397b-a17b") is model(BIG)
    with pytest.raises(UsageError, match=f"use {BIG}"):
        model("Qwen3.5-397B-A71B")
    for odd in ("../gpus", "", "a" * 300, "model\n"):
        with pytest.raises(UsageError, match="not in the catalogue"):
            model(odd)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"layer_types": ["linear_attention"]}, "1 items, but num_hidden_layers is 4"),
        ({"num_experts_per_tok": 9}, "9 exceeds num_experts 8"),
        ({"num_key_value_heads": 3}, "4 does not divide by num_key_value_heads 3"),
        ({"hidden_size": 0}, "hidden_size"),
        ({"hidden_size": 10**12}, "hidden_size"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers"),
        ({"hidden_size": "64"}, "hidden_size"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"head_dim": None}, "head_dim"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_config_that_cannot_be_meant_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        model_from(entry_of("Qwen3.5-MoE-mini", **change))


def test_every_file_holds_the_model_of_its_name_with_a_source() -> None:
    assert len(all_models()) >= 2
    for entry in all_models():
        assert model(entry.name) is entry
        assert entry.entry.source
