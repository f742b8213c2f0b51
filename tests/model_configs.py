"""Small config.json documents of every family, in the form in which the hub has them."""

from typing import Any

QWEN3: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 151643,
    "eos_token_id": 151645,
    "head_dim": 16,
    "hidden_act": "silu",
    "hidden_size": 48,
    "initializer_range": 0.02,
    "intermediate_size": 96,
    "max_position_embeddings": 40960,
    "max_window_layers": 5,
    "model_type": "qwen3",
    "num_attention_heads": 4,
    "num_hidden_layers": 5,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 1000000,
    "sliding_window": None,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.51.0",
    "use_cache": True,
    "use_sliding_window": False,
    "vocab_size": 300,
}

QWEN3_MOE: dict[str, Any] = {
    **{name: value for name, value in QWEN3.items() if name != "max_window_layers"},
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "tie_word_embeddings": False,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "moe_intermediate_size": 24,
    "norm_topk_prob": True,
    "num_experts": 8,
    "num_experts_per_tok": 3,
    "output_router_logits": False,
    "router_aux_loss_coef": 0.001,
}

_GATED_DELTA_NET: dict[str, Any] = {
    "head_dim": 32,
    "hidden_act": "silu",
    "hidden_size": 64,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 6,
    "linear_value_head_dim": 16,
    "max_position_embeddings": 262144,
    "num_attention_heads": 4,
    "num_hidden_layers": 8,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-06,
    "vocab_size": 300,
}

QWEN3_NEXT: dict[str, Any] = {
    **_GATED_DELTA_NET,
    "model_type": "qwen3_next",
    "attention_bias": False,
    "decoder_sparse_step": 1,
    "full_attention_interval": 4,
    "intermediate_size": 128,
    "mlp_only_layers": [],
    "moe_intermediate_size": 24,
    "norm_topk_prob": True,
    "num_experts": 8,
    "num_experts_per_tok": 3,
    "partial_rotary_factor": 0.25,
    "rope_scaling": None,
    "rope_theta": 10000000,
    "shared_expert_intermediate_size": 40,
    "tie_word_embeddings": False,
}

_QWEN35_TEXT: dict[str, Any] = {
    **_GATED_DELTA_NET,
    "attention_bias": False,
    "attn_output_gate": True,
    "full_attention_interval": 4,
    "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 2,
    "mamba_ssm_dtype": "float32",
    "mtp_num_hidden_layers": 1,
    "mtp_use_dedicated_embeddings": False,
    "rope_parameters": {
        "mrope_interleaved": True,
        "mrope_section": [11, 11, 10],
        "partial_rotary_factor": 0.25,
        "rope_theta": 10000000,
        "rope_type": "default",
    },
}
_VISION: dict[str, Any] = {"depth": 27, "hidden_size": 1152, "num_heads": 16}

QWEN3_5_MOE: dict[str, Any] = {
    "architectures": ["Qwen3_5MoeForConditionalGeneration"],
    "image_token_id": 248056,
    "model_type": "qwen3_5_moe",
    "text_config": {
        **_QWEN35_TEXT,
        "model_type": "qwen3_5_moe_text",
        "moe_intermediate_size": 24,
        "num_experts": 8,
        "num_experts_per_tok": 3,
        "shared_expert_intermediate_size": 40,
    },
    "tie_word_embeddings": False,
    "vision_config": {**_VISION, "model_type": "qwen3_5_moe"},
}

QWEN3_5: dict[str, Any] = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "model_type": "qwen3_5",
    "text_config": {**_QWEN35_TEXT, "model_type": "qwen3_5_text", "intermediate_size": 96},
    "tie_word_embeddings": True,
    "vision_config": {**_VISION, "model_type": "qwen3_5"},
}

DEEPSEEK_V3: dict[str, Any] = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "aux_loss_alpha": 0.001,
    "ep_size": 1,
    "first_k_dense_replace": 2,
    "hidden_act": "silu",
    "hidden_size": 64,
    "intermediate_size": 96,
    "kv_lora_rank": 16,
    "max_position_embeddings": 163840,
    "model_type": "deepseek_v3",
    "moe_intermediate_size": 24,
    "moe_layer_freq": 1,
    "n_group": 4,
    "n_routed_experts": 8,
    "n_shared_experts": 2,
    "norm_topk_prob": True,
    "num_attention_heads": 4,
    "num_experts_per_tok": 3,
    "num_hidden_layers": 6,
    "num_key_value_heads": 4,
    "num_nextn_predict_layers": 1,
    "q_lora_rank": 24,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "quantization_config": {"quant_method": "fp8"},
    "rms_norm_eps": 1e-06,
    "rope_scaling": {
        "beta_fast": 32,
        "beta_slow": 1,
        "factor": 40,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "original_max_position_embeddings": 4096,
        "type": "yarn",
    },
    "rope_theta": 10000,
    "routed_scaling_factor": 2.5,
    "scoring_func": "sigmoid",
    "seq_aux": True,
    "tie_word_embeddings": False,
    "topk_group": 2,
    "topk_method": "noaux_tc",
    "v_head_dim": 12,
    "vocab_size": 300,
}

GLM4_MOE: dict[str, Any] = {
    "architectures": ["Glm4MoeForCausalLM"],
    "attention_bias": True,
    "first_k_dense_replace": 3,
    "head_dim": 16,
    "hidden_act": "silu",
    "hidden_size": 64,
    "intermediate_size": 96,
    "max_position_embeddings": 131072,
    "model_type": "glm4_moe",
    "moe_intermediate_size": 24,
    "n_group": 1,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "norm_topk_prob": True,
    "num_attention_heads": 6,
    "num_experts_per_tok": 3,
    "num_hidden_layers": 5,
    "num_key_value_heads": 2,
    "num_nextn_predict_layers": 1,
    "partial_rotary_factor": 0.5,
    "rms_norm_eps": 1e-05,
    "rope_scaling": None,
    "rope_theta": 1000000,
    "routed_scaling_factor": 2.5,
    "tie_word_embeddings": False,
    "topk_group": 1,
    "use_qk_norm": True,
    "vocab_size": 300,
}

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "hidden_act": "silu",
    "hidden_size": 64,
    "intermediate_size": 96,
    "max_position_embeddings": 131072,
    "mlp_bias": False,
    "model_type": "llama",
    "num_attention_heads": 4,
    "num_hidden_layers": 3,
    "num_key_value_heads": 2,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {
        "factor": 8.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    },
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
    "vocab_size": 300,
}

EVERY_FAMILY: dict[str, dict[str, Any]] = {
    "qwen3": QWEN3,
    "qwen3_moe": QWEN3_MOE,
    "qwen3_next": QWEN3_NEXT,
    "qwen3_5_moe": QWEN3_5_MOE,
    "qwen3_5": QWEN3_5,
    "deepseek_v3": DEEPSEEK_V3,
    "glm4_moe": GLM4_MOE,
    "llama": LLAMA,
}

# Changes that switch parts of a model on and off.
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("qwen3", {"tie_word_embeddings": False}),
    ("qwen3_moe", {"mlp_only_layers": [0, 3]}),
    ("qwen3_moe", {"decoder_sparse_step": 2, "norm_topk_prob": False}),
    ("qwen3_next", {"mlp_only_layers": [1], "full_attention_interval": 2}),
    ("deepseek_v3", {"q_lora_rank": None, "rope_scaling": None, "n_group": 1, "topk_group": 1}),
    ("deepseek_v3", {"first_k_dense_replace": 0, "tie_word_embeddings": True}),
    ("glm4_moe", {"attention_bias": False, "use_qk_norm": False, "routed_scaling_factor": 1.0}),
    ("glm4_moe", {"head_dim": None, "hidden_size": 96}),
    ("llama", {"rope_scaling": None, "num_key_value_heads": None, "tie_word_embeddings": True}),
    ("llama", {"head_dim": 24}),
]


def changed(family: str, **changes: Any) -> dict[str, Any]:
    """A family's config with fields of its text part changed; None takes one out, unless null has a meaning."""
    document = EVERY_FAMILY[family]
    inner = document.get("text_config", document)
    keep_null = {"q_lora_rank", "rope_scaling"}
    fields = {**inner, **changes}
    fields = {name: value for name, value in fields.items() if value is not None or name in keep_null}
    return {**document, "text_config": fields} if "text_config" in document else fields
