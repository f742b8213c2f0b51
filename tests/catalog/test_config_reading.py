import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_configs import EVERY_FAMILY, VARIANTS, changed

from openrecipes.catalog.config_reading import ReadConfig, read_config
from openrecipes.problems import Problem, ProblemsError


def read(document: Any) -> ReadConfig:
    return read_config(json.dumps(document, indent=1), "config.json")


def problems(document: Any) -> tuple[Problem, ...]:
    text = document if isinstance(document, str) else json.dumps(document, indent=1)
    with pytest.raises(ProblemsError) as caught:
        read_config(text, "config.json")
    return caught.value.problems


@pytest.mark.parametrize("family", EVERY_FAMILY)
def test_every_family_is_read(family: str) -> None:
    found = read(EVERY_FAMILY[family])
    assert found.family.model_type.removesuffix("_text") == family
    assert set(found.fields) <= set(found.family.form.model_fields)


def test_a_vision_part_and_extra_prediction_layers_are_left_out_and_named() -> None:
    assert read(EVERY_FAMILY["qwen3_5"]).not_counted == (
        "vision encoder",
        "multi-token prediction (mtp_num_hidden_layers: 1)",
    )
    assert read(EVERY_FAMILY["glm4_moe"]).not_counted == ("multi-token prediction (num_nextn_predict_layers: 1)",)
    assert read(EVERY_FAMILY["qwen3"]).not_counted == ()


def test_the_whole_models_tie_decides_over_the_text_parts() -> None:
    document = changed("qwen3_5", tie_word_embeddings=False)
    assert document["tie_word_embeddings"] is True
    assert read(document).fields["tie_word_embeddings"] is True


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_theta": 500000.0, "rope_scaling": None},
        {"rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"}, "rope_scaling": None, "rope_theta": None},
        {"rope_parameters": {"rope_theta": 500000, "type": "default"}, "rope_scaling": None, "rope_theta": None},
    ],
)
def test_every_form_of_rotary_position_embedding_reads_the_same(rope: dict[str, Any]) -> None:
    expected = {"rope_type": "default", "rope_theta": 500000.0, "partial_rotary_factor": 1.0}
    assert read(changed("llama", **rope)).fields["rope_parameters"] == expected


def test_a_silent_config_means_what_transformers_assumes() -> None:
    next_rope = read(changed("qwen3_next", partial_rotary_factor=None)).fields["rope_parameters"]
    assert isinstance(next_rope, dict)
    assert next_rope["partial_rotary_factor"] == 0.25
    assert read(changed("qwen3_5", layer_types=None)).fields == read(EVERY_FAMILY["qwen3_5"]).fields
    assert read(changed("qwen3_moe", norm_topk_prob=None)).fields["norm_topk_prob"] is False
    heads = read(changed("llama", num_key_value_heads=None)).fields
    assert (heads["num_key_value_heads"], heads["head_dim"]) == (4, 16)


@pytest.mark.parametrize(
    ("family", "changes", "key", "what"),
    [
        ("qwen3", {"hidden_size": None}, "hidden_size", "is missing"),
        ("qwen3", {"hidden_size": "48"}, "hidden_size", 'is "48", but must be a whole number'),
        ("qwen3", {"hidden_size": 48.5}, "hidden_size", "is 48.5, but must be a whole number"),
        ("qwen3", {"hidden_size": True}, "hidden_size", "is true, but must be a whole number"),
        ("qwen3", {"hidden_size": 0}, "hidden_size", "is 0, but must be above 0"),
        ("qwen3", {"vocab_size": 10**30}, "vocab_size", "but must be"),
        ("qwen3", {"num_hidden_layers": 10**9}, "num_hidden_layers", "is 1000000000, but must be at most 10,000"),
        ("qwen3", {"hidden_act": "gelu"}, "hidden_act", "is \"gelu\", but must be 'silu'"),
        ("qwen3", {"attention_bias": True}, "attention_bias", "is true, which cannot be mapped: qwen3 needs false"),
        ("qwen3", {"use_sliding_window": True}, "use_sliding_window", "is true, which cannot be mapped"),
        ("qwen3", {"layer_types": ["full_attention", "sliding_attention"]}, "layer_types", "which cannot be mapped"),
        ("qwen3", {"attention_dropout": 0.1}, "attention_dropout", "is 0.1, which cannot be mapped"),
        ("qwen3", {"num_key_value_heads": 3}, "num_attention_heads", "4 does not divide by num_key_value_heads 3"),
        ("qwen3", {"rope_theta": None}, "rope_parameters.rope_theta", "is missing"),
        ("qwen3", {"rope_theta": 10000.5}, "rope_parameters.rope_theta", "but must be a multiple of 1"),
        ("qwen3", {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "rope_parameters.factor", "cannot be mapped"),
        ("qwen3", {"rope_scaling": "yarn"}, "rope_parameters", "but must be a mapping"),
        ("qwen3", {"rope_scaling": {"rope_type": [1]}}, "rope_parameters.rope_type", "is [1], but must be"),
        ("qwen3", {"num_atention_heads": 4}, "num_atention_heads", "is 4, which cannot be mapped: no such field"),
        ("qwen3_moe", {"num_experts_per_tok": 9}, "num_experts_per_tok", "9 exceeds num_experts 8"),
        ("qwen3_moe", {"decoder_sparse_step": 6}, "decoder_sparse_step", "6 leaves no layer with experts among 5"),
        ("qwen3_5_moe", {"num_experts": None}, "text_config.num_experts", "is missing"),
        ("qwen3_5_moe", {"attn_output_gate": False}, "text_config.attn_output_gate", "which cannot be mapped"),
        ("qwen3_5_moe", {"num_hidden_layers": 9}, "text_config.layer_types", "8 items, but num_hidden_layers is 9"),
        ("deepseek_v3", {"topk_method": "greedy"}, "topk_method", 'is "greedy", which cannot be mapped'),
        ("deepseek_v3", {"first_k_dense_replace": 6}, "first_k_dense_replace", "6 is not below num_hidden_layers 6"),
        ("deepseek_v3", {"n_group": 3}, "n_routed_experts", "8 does not divide by n_group 3"),
        ("llama", {"mlp_bias": True}, "mlp_bias", "is true, which cannot be mapped"),
        (
            "llama",
            {"rope_scaling": {"rope_type": "dynamic"}},
            "rope_parameters.rope_type",
            'is "dynamic", which cannot',
        ),
    ],
)
def test_what_cannot_be_mapped_is_named(family: str, changes: dict[str, Any], key: str, what: str) -> None:
    keep_null = {name for name, value in changes.items() if value is None}
    document = changed(family, **changes)
    assert not keep_null & set(document)
    found = problems(document)
    assert any(problem.place.key == key and what in problem.what for problem in found), found


def test_all_problems_come_at_once_with_their_lines() -> None:
    document = changed("qwen3_5_moe", hidden_size=None, head_dim="x", surprise=1, attention_bias=True)
    found = problems({**document, "also": 2})
    assert {problem.place.key for problem in found} == {
        "text_config.hidden_size", "text_config.head_dim", "text_config.surprise", "text_config.attention_bias", "also",
    }  # fmt: skip
    lines = json.dumps({**document, "also": 2}, indent=1).splitlines()
    for problem in found:
        name = problem.place.key.rpartition(".")[2]
        assert problem.place.line is not None
        if name != "hidden_size":
            assert f'"{name}"' in lines[problem.place.line - 1]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[]", "is not a JSON object"),
        ("null", "is not a JSON object"),
        ("{}", "is missing"),
        ('{"model_type": "mamba"}', 'is "mamba", a family that the catalogue cannot map'),
        ('{"model_type": ["qwen3"]}', 'is ["qwen3"], a family'),
        ('{"model_type": "qwen3_5"}', "is missing"),
        ('{"model_type": "qwen3_5", "text_config": {"model_type": "qwen3"}}', "but qwen3_5 holds a qwen3_5_text"),
        ('{"a": 1, "a": 2}', "names a twice"),
        ('{"model_type": "qwen3", "rms_norm_eps": NaN}', "holds NaN"),
        ("[" * 100_000, "nests too deeply"),
    ],
)
def test_what_is_no_config_is_refused(text: str, what: str) -> None:
    assert what in problems(text)[0].what


def test_a_config_indented_by_tabs_is_read_all_the_same() -> None:
    text = json.dumps(EVERY_FAMILY["qwen3"], indent="\t")
    assert read_config(text, "config.json").fields == read(EVERY_FAMILY["qwen3"]).fields


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(data=st.data(), family=st.sampled_from(sorted(EVERY_FAMILY)), value=json_values)
def test_any_value_of_any_field_is_read_or_is_a_problem(data: st.DataObject, family: str, value: Any) -> None:
    document = EVERY_FAMILY[family]
    inner = document.get("text_config", document)
    name = data.draw(st.sampled_from(sorted(inner)))
    broken = {**inner, name: value}
    whole = {**document, "text_config": broken} if inner is not document else broken
    try:
        found = read_config(json.dumps(whole), "config.json")
    except ProblemsError as error:
        complaints = error.problems
    else:
        config = found.family.form.model_validate_json(json.dumps(found.fields))
        assert found.family.tensors(config)
        assert found.family.arguments(config)
        return
    assert complaints
    assert all(problem.mend and problem.what for problem in complaints)


@pytest.mark.parametrize(("family", "changes"), VARIANTS)
def test_fields_read_once_read_the_same_again(family: str, changes: dict[str, Any]) -> None:
    first = read(changed(family, **changes))
    again = read({**first.fields, "model_type": first.family.model_type})
    assert again.fields == first.fields
