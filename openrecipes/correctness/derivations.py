"""What slime a897e1f4 and Megatron-LM 1dcf0daf make of the arguments before the first step, in their order.

Each derivation is a pure function of the values so far, by attribute, as canonical text. Sources: slime's
slime/backends/megatron_utils/arguments.py, slime/utils/arguments.py and model.py; Megatron's
megatron/training/arguments.py (`validate_args`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from openrecipes.correctness.argument_values import NONE, canonical, expanded, number, whole

Values = Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Derivation:
    """One thing that the trainer does to its own arguments, in words and as a function."""

    says: str
    change: Callable[[Values], Mapping[str, str]]


def _slime_sets(values: Values) -> Mapping[str, str]:
    length = _or(values, "seq_length", "4096")
    changed = {
        "use_distributed_optimizer": "True",
        "bf16": canonical(values.get("fp16") != "True"),
        "use_persistent_ckpt_worker": "True",
        "ckpt_assume_constant_structure": "True",
        "ckpt_fully_parallel_load": "True",
        "dist_ckpt_save_pre_mcore_014": "True",
        "seq_length": length,
        "max_position_embeddings": length,
        "rope_type": _or(values, "rope_type", "yarn" if values.get("multi_latent_attention") == "True" else "rope"),
        "tokenizer_model": _or(values, "tokenizer_model", values.get("hf_checkpoint", NONE)),
        "world_size": _product(values, "actor_num_nodes", "actor_num_gpus_per_node"),
    }
    if _unset(values, "tokenizer_model") and _unset(values, "tokenizer_type"):
        changed["tokenizer_type"] = "HuggingFaceTokenizer"
    return changed


def _padded_vocabulary(values: Values) -> Mapping[str, str]:
    vocabulary, tp = whole(values.get("vocab_size")), whole(values.get("tensor_model_parallel_size"))
    divisor = whole(values.get("make_vocab_size_divisible_by"))
    if not vocabulary or not tp or not divisor or not _unset(values, "padded_vocab_size"):
        return {}
    unit = divisor * tp
    return {"padded_vocab_size": str(-(-vocabulary // unit) * unit)}


def _start(values: Values) -> Mapping[str, str]:
    if not _unset(values, "load") or _unset(values, "ref_load"):
        return {}
    step = {} if _unset(values, "ref_ckpt_step") else {"ckpt_step": values["ref_ckpt_step"]}
    fresh = {"no_load_optim": "True", "no_load_rng": "True", "finetune": "True", "start_rollout_id": "0"}
    return {"load": values["ref_load"], **fresh, **step}


def _slime_fills_in(values: Values) -> Mapping[str, str]:
    changed = {
        "eps_clip_high": _or(values, "eps_clip_high", values.get("eps_clip", NONE)),
        "eval_function_path": _or(values, "eval_function_path", values.get("rollout_function_path", NONE)),
        "over_sampling_batch_size": _or(values, "over_sampling_batch_size", values.get("rollout_batch_size", NONE)),
        "offload_train": _or(values, "offload_train", "False"),
        "offload_rollout": _or(values, "offload_rollout", "False"),
        "use_critic": canonical(values.get("advantage_estimator") == "ppo"),
    }
    if values.get("use_dynamic_batch_size") == "True":
        limit = values.get("max_tokens_per_gpu", NONE)
        changed["log_probs_max_tokens_per_gpu"] = _or(values, "log_probs_max_tokens_per_gpu", limit)
    if values.get("balance_by_flops") == "True":
        changed["balance_data"] = "True"
    if values.get("n_samples_per_prompt") == "1":
        changed["grpo_std_normalization"] = "False"
    if values.get("use_rollout_routing_replay") == "True":
        changed["use_routing_replay"] = "True"
    return changed


def _batch(values: Values) -> Mapping[str, str]:
    rows, samples, steps = (
        whole(values.get(name)) for name in ("rollout_batch_size", "n_samples_per_prompt", "num_steps_per_rollout")
    )
    if not rows or not samples or not steps:
        return {}
    return {"global_batch_size": str(rows * samples // steps)}


def _megatron_fills_in(values: Values) -> Mapping[str, str]:
    decay = values.get("weight_decay", NONE)
    constant = values.get("weight_decay_incr_style") == "constant"
    changed = {
        "expert_tensor_parallel_size": _or(
            values, "expert_tensor_parallel_size", values.get("tensor_model_parallel_size", NONE)
        ),
        "encoder_num_layers": _or(values, "encoder_num_layers", values.get("num_layers", NONE)),
        "encoder_seq_length": _or(values, "encoder_seq_length", values.get("seq_length", NONE)),
        "dataloader_type": _or(values, "dataloader_type", "single"),
        "params_dtype": "fp16" if values.get("fp16") == "True" else "bf16" if values.get("bf16") == "True" else "fp32",
        "data_parallel_size": _data_parallel(values),
    }
    if values.get("fp16") == "True" and _unset(values, "loss_scale"):
        changed["check_for_nan_in_loss_and_grad"] = "False"  # with a dynamic loss scale NaN is a signal to it
    if constant:
        changed |= {"start_weight_decay": decay, "end_weight_decay": decay}
    if not _unset(values, "num_experts"):
        changed["moe_ffn_hidden_size"] = _or(values, "moe_ffn_hidden_size", values.get("ffn_hidden_size", NONE))
    if values.get("tensor_model_parallel_size") == "1":
        changed["sequence_parallel"] = "False"
    if values.get("bf16") == "True" and values.get("grad_reduce_in_bf16") == "True":
        changed["accumulate_allreduce_grads_in_fp32"] = "False"
    elif values.get("bf16") == "True" and values.get("main_grads_dtype") == "fp32":
        changed["accumulate_allreduce_grads_in_fp32"] = "True"
    return changed


def _shape(values: Values) -> Mapping[str, str]:
    hidden, heads = whole(values.get("hidden_size")), whole(values.get("num_attention_heads"))
    changed: dict[str, str] = {}
    if hidden and _unset(values, "ffn_hidden_size"):
        gated = values.get("swiglu") == "True"
        changed["ffn_hidden_size"] = str(int((4 * hidden * 2 / 3) / 64) * 64 if gated else 4 * hidden)
    if hidden and heads and _unset(values, "kv_channels"):
        changed["kv_channels"] = str(hidden // heads)
    if values.get("add_bias_linear") == "False":
        changed["bias_gelu_fusion"] = "False"
    elif values.get("add_bias_linear") == "True":
        changed["add_qkv_bias"] = "True"
    return changed


def _single(values: Values) -> Mapping[str, str]:
    """A list of one is that one."""
    lists = ("moe_aux_loss_coeff", "moe_router_load_balancing_type")
    found = {name: expanded(values.get(name, NONE)) for name in lists}
    return {name: canonical(items[0]) for name, items in found.items() if items is not None and len(items) == 1}


def _pipeline(values: Values) -> Mapping[str, str]:
    interleaved = not _unset(values, "num_layers_per_virtual_pipeline_stage") or not _unset(
        values, "num_virtual_stages_per_pipeline_rank"
    )
    return {} if interleaved else {"overlap_p2p_comm": "False", "align_param_gather": "False"}


def _dispatcher(values: Values) -> Mapping[str, str]:
    """As Megatron has it once slime is done; the dump is printed before."""
    if values.get("moe_token_dispatcher_type") != "allgather":
        return {}
    return {"moe_token_dispatcher_type": "alltoall"}


def _schedule(values: Values) -> Mapping[str, str]:
    rollouts, rows, samples, batch = (
        whole(values.get(name))
        for name in ("num_rollout", "rollout_batch_size", "n_samples_per_prompt", "global_batch_size")
    )
    if not rollouts or not rows or not samples or not batch:
        return {}
    steps = rollouts * rows * samples // batch
    decay = whole(_or(values, "lr_decay_iters", str(steps))) or steps
    share, iterations = number(values.get("lr_warmup_fraction")), whole(values.get("lr_warmup_iters")) or 0
    warmup = iterations * batch if share is None else share * decay * batch
    return {"train_iters": str(steps), "lr_decay_iters": str(decay), "lr_warmup_steps": canonical(f"{warmup:.12g}")}


DERIVATIONS: Final = (
    Derivation(says="slime sets it", change=_slime_sets),
    Derivation(
        says="vocab_size rounded up to a multiple of make_vocab_size_divisible_by x tp", change=_padded_vocabulary
    ),
    Derivation(says="without load, the run starts at ref_load", change=_start),
    Derivation(says="slime fills it in", change=_slime_fills_in),
    Derivation(says="rollout_batch_size x n_samples_per_prompt / num_steps_per_rollout", change=_batch),
    Derivation(says="Megatron fills it in", change=_shape),
    Derivation(says="Megatron fills it in", change=_megatron_fills_in),
    Derivation(says="a list of one is that one", change=_single),
    Derivation(says="without interleaving, Megatron turns it off", change=_pipeline),
)
# After the arguments are printed, so that a log's dump lacks them too.
IN_THE_ACTORS: Final = (
    Derivation(says="slime replaces allgather, which takes no rows of unequal length", change=_dispatcher),
    Derivation(says="num_rollout x rows a rollout / global batch; warm-up in rows", change=_schedule),
)


def _unset(values: Values, name: str) -> bool:
    return values.get(name, NONE) == NONE


def _or(values: Values, name: str, otherwise: str) -> str:
    return otherwise if _unset(values, name) else values[name]


def _product(values: Values, *names: str) -> str:
    result = 1
    for name in names:
        result *= whole(values.get(name)) or 1
    return str(result)


def _data_parallel(values: Values) -> str:
    world = whole(values.get("world_size")) or 1
    model = int(_product(values, "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"))
    return str(world // model)
