"""Config fields that no family needs, by name."""

from typing import Final

# Fields that change neither a tensor nor an argument: tokens, dtypes, storage, generation, other software.
HOUSEKEEPING: Final = frozenset(
    [
        "_attn_implementation",
        "_commit_hash",
        "_name_or_path",
        "add_cross_attention",
        "architectures",
        "auto_map",
        "aux_loss_alpha",
        "begin_suppress_tokens",
        "bos_token_id",
        "chunk_size_feed_forward",
        "cross_attention_hidden_size",
        "decoder_start_token_id",
        "dtype",
        "eos_token_id",
        "ep_size",
        "finetuning_task",
        "forced_bos_token_id",
        "forced_eos_token_id",
        "id2label",
        "initializer_range",
        "is_decoder",
        "is_encoder_decoder",
        "label2id",
        "language_model_only",
        "mamba_ssm_dtype",
        "model_type",
        "moe_router_dtype",
        "mtp_use_dedicated_embeddings",
        "output_attentions",
        "output_hidden_states",
        "output_router_logits",
        "pad_token_id",
        "prefix",
        "pretraining_tp",
        "problem_type",
        "pruned_heads",
        "quantization_config",
        "return_dict",
        "router_aux_loss_coef",
        "sep_token_id",
        "seq_aux",
        "suppress_tokens",
        "task_specific_params",
        "tie_encoder_decoder",
        "tokenizer_class",
        "torch_dtype",
        "torchscript",
        "transformers_version",
        "use_bfloat16",
        "use_cache",
    ]
)
# The same of a config that holds a text part and a vision part.
WRAPPER_HOUSEKEEPING: Final = HOUSEKEEPING | frozenset(
    [
        "image_token_id",
        "image_token_index",
        "video_token_id",
        "video_token_index",
        "vision_end_token_id",
        "vision_start_token_id",
        "text_config",
        "vision_config",
        "tie_word_embeddings",
    ]
)
