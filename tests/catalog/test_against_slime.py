"""Arguments of the catalogue's models, held against those that slime a897e1f4 ships for them in scripts/models."""

import json
import shlex
from typing import Any

import pytest
from model_configs import changed

from openrecipes.catalog.config_reading import read_config
from openrecipes.catalog.model_parts import ModelArgument
from openrecipes.catalog.models import model

_QWEN = (
    "--disable-bias-linear --group-query-attention --swiglu --normalization RMSNorm --norm-epsilon 1e-6 --qk-layernorm"
)
_QWEN_MOE = (
    "--moe-router-score-function softmax --moe-token-drop-policy probs --moe-router-dtype fp32 --moe-aux-loss-coeff 0"
)
_QWEN35 = (
    f"{_QWEN} --spec slime_plugins.models.qwen3_5 get_qwen3_5_spec --kv-channels 256 --use-gated-attention "
    "--apply-layernorm-1p --position-embedding-type rope --rotary-percent 0.25 --vocab-size 248320 "
    "--rotary-base 10000000 --attention-output-gate"
)
_SIGMOID = (
    "--disable-bias-linear --normalization RMSNorm --position-embedding-type rope --swiglu "
    "--untie-embeddings-and-output-weights --moe-router-pre-softmax --moe-router-score-function sigmoid "
    "--moe-router-enable-expert-bias --moe-router-load-balancing-type seq_aux_loss --moe-aux-loss-coeff 0 "
    "--moe-router-bias-update-rate 0 --moe-router-topk-scaling-factor 2.5 --moe-router-dtype fp32 --qk-layernorm "
    "--kv-channels 128"
)

SCRIPTS = {
    "Qwen3.5-35B-A3B": f"{_QWEN35} {_QWEN_MOE} --untie-embeddings-and-output-weights --num-attention-heads 16 "
    "--num-query-groups 2 --num-layers 40 --hidden-size 2048 --ffn-hidden-size 512 --moe-ffn-hidden-size 512 "
    "--moe-shared-expert-intermediate-size 512 --moe-router-topk 8 --moe-layer-freq [1]*40 --num-experts 256 "
    "--moe-shared-expert-gate",
    "Qwen3.5-4B": f"{_QWEN35} --num-attention-heads 16 --num-query-groups 4 --num-layers 32 --hidden-size 2560 "
    "--ffn-hidden-size 9216",
    "Qwen3-235B-A22B": f"{_QWEN} {_QWEN_MOE} --num-attention-heads 64 --num-query-groups 4 --kv-channels 128 "
    "--num-layers 94 --hidden-size 4096 --ffn-hidden-size 12288 --position-embedding-type rope --rotary-percent 1.0 "
    "--untie-embeddings-and-output-weights --vocab-size 151936 --rotary-base 1000000 --moe-ffn-hidden-size 1536 "
    "--moe-router-topk 8 --moe-layer-freq [1]*94 --num-experts 128",
    "Qwen3-30B-A3B": f"{_QWEN} {_QWEN_MOE} --num-attention-heads 32 --num-query-groups 4 --kv-channels 128 "
    "--num-layers 48 --hidden-size 2048 --ffn-hidden-size 6144 --position-embedding-type rope --rotary-percent 1.0 "
    "--untie-embeddings-and-output-weights --vocab-size 151936 --rotary-base 1000000 --moe-ffn-hidden-size 768 "
    "--moe-router-topk 8 --moe-layer-freq [1]*48 --num-experts 128",
    # Here slime writes --use-rotary-position-embeddings, the older word for --position-embedding-type rope.
    "Qwen3-32B": f"{_QWEN} --num-layers 64 --hidden-size 5120 --ffn-hidden-size 25600 --num-attention-heads 64 "
    "--num-query-groups 8 --position-embedding-type rope --rotary-base 1000000 --vocab-size 151936 --kv-channels 128 "
    "--untie-embeddings-and-output-weights",
}

DEEPSEEK_V3 = (
    f"{_SIGMOID} --num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 "
    "--norm-epsilon 1e-6 --vocab-size 129280 --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 "
    "--qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 --rotary-scaling-factor 40 --rotary-base 10000 "
    "--mscale 1.0 --mscale-all-dim 1.0 --no-rope-fusion --num-experts 256 --moe-layer-freq [0]*3+[1]*58 "
    "--moe-ffn-hidden-size 2048 --moe-router-topk 8 --moe-shared-expert-intermediate-size 2048 "
    "--moe-router-group-topk 4 --moe-router-num-groups 8"
)
DEEPSEEK_V3_SIZES: dict[str, Any] = {
    "num_hidden_layers": 61, "hidden_size": 7168, "intermediate_size": 18432, "num_attention_heads": 128,
    "num_key_value_heads": 128, "vocab_size": 129280, "q_lora_rank": 1536, "kv_lora_rank": 512,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256,
    "first_k_dense_replace": 3, "moe_intermediate_size": 2048, "num_experts_per_tok": 8, "n_shared_experts": 1,
    "n_group": 8, "topk_group": 4,
}  # fmt: skip
GLM45_355B = (
    f"{_SIGMOID} --group-query-attention --num-attention-heads 96 --num-query-groups 8 --num-layers 92 "
    "--hidden-size 5120 --ffn-hidden-size 12288 --add-qkv-bias --rotary-percent 0.5 --vocab-size 151552 "
    "--rotary-base 1000000 --moe-ffn-hidden-size 1536 --moe-shared-expert-intermediate-size 1536 --moe-router-topk 8 "
    "--moe-layer-freq [0]*3+[1]*89 --num-experts 160"
)
GLM45_355B_SIZES: dict[str, Any] = {
    "num_hidden_layers": 92, "hidden_size": 5120, "intermediate_size": 12288, "num_attention_heads": 96,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151552, "n_routed_experts": 160,
    "moe_intermediate_size": 1536, "num_experts_per_tok": 8,
}  # fmt: skip

# What Megatron takes anyway where a script leaves it out.
DEFAULTS = {("--rotary-percent", "1.0"), ("--norm-epsilon", "1e-5")}


def settings(words: list[str]) -> set[tuple[str, ...]]:
    """Flags with their values, numbers as numbers, without what is Megatron's default."""
    found: list[list[str]] = []
    for word in words:
        if word.startswith("--"):
            found.append([word])
        else:
            found[-1].append(word)
    return {_plain(item) for item in found if tuple(item) not in DEFAULTS}


def _plain(item: list[str]) -> tuple[str, ...]:
    try:
        return (item[0], *(str(float(value)) for value in item[1:]))
    except ValueError:
        return tuple(item)


def argv_of(arguments: tuple[ModelArgument, ...]) -> list[str]:
    return [word for argument in arguments for word in argument.argv]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_models_arguments_are_those_of_slimes_script(name: str) -> None:
    assert settings(argv_of(model(name).architecture_arguments())) == settings(shlex.split(SCRIPTS[name]))


@pytest.mark.parametrize(
    ("family", "sizes", "script"),
    [("deepseek_v3", DEEPSEEK_V3_SIZES, DEEPSEEK_V3), ("glm4_moe", GLM45_355B_SIZES, GLM45_355B)],
)
def test_a_read_configs_arguments_are_those_of_slimes_script(family: str, sizes: dict[str, Any], script: str) -> None:
    read = read_config(json.dumps(changed(family, **sizes)), "config.json")
    config = read.family.form.model_validate_json(json.dumps(read.fields))
    assert settings(argv_of(read.family.arguments(config))) == settings(shlex.split(script))


def test_the_comparison_sees_a_difference() -> None:
    ours = settings(argv_of(model("Qwen3-32B").architecture_arguments()))
    assert ours != settings(shlex.split(SCRIPTS["Qwen3-32B"].replace("25600", "25601")))
    assert ours != settings(shlex.split(SCRIPTS["Qwen3-32B"].replace("--qk-layernorm", "")))
