"""Mutations of the environment, the command and its arguments."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from good_recipes import SMOKE_FILE, text_with
from mutation_changes import Mutations, fields, last_line, line, run, then

MUTATIONS = Mutations()

# Environment
MUTATIONS.add("env-exports", "run", fields({"env.TORCHINDUCTOR_COMPILE_THREADS": "2"}, derived=()))
MUTATIONS.add("env-exports", "env.NEW", fields({"env.NEW": "1"}, derived=()), name="a variable that run lacks")
MUTATIONS.add(
    "env-exports", "run", line("  export TORCH", "  export MORE=1\n  export TORCH"), name="an export that env lacks"
)
MUTATIONS.add("env-connections", "env.CUDA_DEVICE_MAX_CONNECTIONS", fields({"env.CUDA_DEVICE_MAX_CONNECTIONS": "8"}))
MUTATIONS.add("env-attention", "env.NVTE_FLASH_ATTN", fields({"env.NVTE_FLASH_ATTN": "0"}))
MUTATIONS.add("env-substitution", "env.HOST", fields({"env.HOST": "$(hostname)"}))
MUTATIONS.add("env-secret", "env.HF_TOKEN", fields({"env.HF_TOKEN": "hf_notreal"}))
MUTATIONS.add(
    "env-text", "env.NUL", lambda text: text_with(text, {"env.NUL": "a\0b", "run": f"export NUL='a\0b'\n{run(text)}"})
)
MUTATIONS.add(
    "env-shell",
    "env.OPEN",
    lambda text: text_with(text, {"env.OPEN": "$(date", "run": f"export OPEN='$(date'\n{run(text)}"}),
    name="an open substitution",
)


# The command
_END: Final = "--distributed-timeout-minutes 30"
MUTATIONS.add("command-quotes", "run", line("--lr 1e-5", "--lr '1e-5"))
MUTATIONS.add("command-quotes", "run", line("--lr 1e-5", "--lr $(echo 1e-5"), name="an open substitution in run")
MUTATIONS.add("command-heredoc", "run", last_line("\n  cat <<EOF\n  text\n  EOF"))
MUTATIONS.add("command-operator", "run", last_line("; rm -rf /"))
MUTATIONS.add("command-operator", "run", last_line(" && echo done"), name="a second command by &&")
MUTATIONS.add("command-operator", "run", last_line(" > log.txt"), name="a redirection")
MUTATIONS.add("command-substitution", "run", line(_END, "--distributed-timeout-minutes `echo 30`"))
MUTATIONS.add("command-substitution", "run", line(_END, "--distributed-timeout-minutes $(echo 30)"), name="$(...)")
MUTATIONS.add("command-continuation", "run", line("--sequence-parallel \\\n", "--sequence-parallel\n"))
MUTATIONS.add(
    "command-continuation",
    "run",
    line("--sequence-parallel \\\n", "--sequence-parallel \\ \n"),
    name="a blank at the end",
)
MUTATIONS.add("command-one", "run", last_line("\n  nvidia-smi"))
MUTATIONS.add("command-one", "run", lambda text: text[: text.index("\n  python3 -m")], name="no command")
_GLOB: Final = {"arguments.wandb_group": "[a-z]*"}
MUTATIONS.add("command-pattern", "run", then(fields(_GLOB), line("--wandb-group '[a-z]*'", "--wandb-group [a-z]*")))
MUTATIONS.add("command-entry", "run", line("python3 -m <slime entry module> --async", "python3 train.py"))
MUTATIONS.add("command-flag", "run", line("--expert-model-parallel-size 32", "--expert-model-parallel-size 16"))
MUTATIONS.add("command-flag", "run", line("--adam-beta2 0.98", "--adam-beta2 0.999"), name="another default")
MUTATIONS.add("command-surplus", "run", line("--optimizer adam", "--clip-grad 0.5 --optimizer adam"))
MUTATIONS.add("command-missing", "run", line("    --calculate-per-token-loss \\\n", ""))
MUTATIONS.add("command-text", "run", line("--lr 1e-5", "--lr 0.00001"))
MUTATIONS.add(
    "command-text",
    "run",
    line("--adam-beta1 0.9 --adam-beta2 0.98", "--adam-beta2 0.98 --adam-beta1 0.9"),
    name="another order",
)

# Trainer arguments
MUTATIONS.add("stack-known", "stack.framework", fields({"stack.framework": "slime 0.3.1: THUDM/slime 0123456"}))
MUTATIONS.add("argument-unknown", "arguments.max_tokens_per_gpuu", fields({"arguments.max_tokens_per_gpuu": 99}))
MUTATIONS.add(
    "argument-unknown",
    "run",
    line("--max-tokens-per-gpu 8192", "--max-tokens-per-gpu 8192 --max-tokens-per-gpuu 99"),
    name="a typing error in run",
)
MUTATIONS.add("argument-count", "run", line("--context-parallel-size 1", "--context-parallel-size"))
MUTATIONS.add(
    "argument-count", "run", line("--sequence-parallel", "--sequence-parallel true"), name="a value that is not taken"
)
MUTATIONS.add("argument-count", "arguments.clip_grad", fields({"arguments.clip_grad": True}), name="a value left out")
MUTATIONS.add("argument-value", "arguments.lr", fields({"arguments.lr": "fast"}))
MUTATIONS.add(
    "argument-value", "arguments.lr_decay_style", fields({"arguments.lr_decay_style": "cosign"}), name="a choice"
)
MUTATIONS.add(
    "argument-value",
    "run",
    line("--optimizer adam", "--rotary-base 1e7 --optimizer adam"),
    name="a float for a whole number",
)
MUTATIONS.add("argument-spaces", "run", line("--optimizer adam", '--moe-layer-freq "[1, 1]" --optimizer adam'))
MUTATIONS.add("argument-repeated", "run", line("--lr 1e-5", "--lr 2e-5 --lr 1e-5"))
MUTATIONS.add("argument-needs", "arguments.overlap_param_gather", fields({"arguments.overlap_param_gather": True}))
MUTATIONS.add("argument-excludes", "arguments.lr_warmup_iters", fields({"arguments.lr_warmup_iters": 2}))
MUTATIONS.add("argument-void", "arguments.sgd_momentum", fields({"arguments.sgd_momentum": 0.5}))
MUTATIONS.add(
    "argument-void",
    "run",
    line("--optimizer adam", "--sglang-mem-fraction-static 0.8 --optimizer adam"),
    name="an engine's flag",
)
MUTATIONS.add(
    "argument-void", "run", line("--optimizer adam", "--micro-batch-size 2 --optimizer adam"), name="a microbatch size"
)
MUTATIONS.add("argument-default", "arguments.attention_dropout", fields({"arguments.attention_dropout": None}))
_OWN_ROLLOUT: Final = "--rollout-function-path slime.rollout.sft_rollout.generate_rollout"
MUTATIONS.add(
    "argument-default",
    "run",
    line("--rollout-function-path pretokenized_sft_rollout.generate_rollout", _OWN_ROLLOUT),
    name="the loss mask",
)
MUTATIONS.add("argument-twice", "arguments.min-lr", fields({"arguments.min_lr": 1e-6, "arguments.min-lr": 1e-6}))
MUTATIONS.add("argument-field", "arguments.num_rollout", fields({"arguments.num_rollout": 14}))
MUTATIONS.add("argument-model", "arguments.num_layers", fields({"arguments.num_layers": 60}))
MUTATIONS.add("argument-launch", "arguments.hf_checkpoint", fields({"arguments.hf_checkpoint": "/models/qwen"}))
MUTATIONS.add("argument-task", "arguments.loss_type", fields({"arguments.loss_type": "sft_loss"}))
MUTATIONS.add("render-precision", "workload.precision", fields({"workload.precision": "fp32"}))
_PP1: Final = {"layout.pp": 1, "layout.dp": 64}


def _offload_on_one_stage(changes: Mapping[str, Any], exports: str = "") -> Callable[[str], str]:
    whole = {"layout.offload": "activations", **_PP1, **changes}
    return lambda text: text_with(text, {**whole, "run": f"{exports}{run(text)}"})


_V1: Final = {"env.NVTE_CPU_OFFLOAD_V1": "1"}
MUTATIONS.add("render-offload-modules", "layout.offload", _offload_on_one_stage(_V1, "export NVTE_CPU_OFFLOAD_V1=1\n"))
MUTATIONS.add(
    "render-offload-env", "layout.offload", _offload_on_one_stage({"arguments.offload_modules": ["core_attn"]})
)
_WITHOUT: Final = {"layout.offload": "optimizer", "arguments.use_precision_aware_optimizer": False}
MUTATIONS.add("render-offload-optimizer", "layout.offload", fields(_WITHOUT))
MUTATIONS.add("render-smoke", "workload.precision", fields({"workload.precision": "bf16"}), base=SMOKE_FILE)
