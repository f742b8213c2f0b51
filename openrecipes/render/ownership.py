"""Which flags a recipe's fields, its workload or the launch decide, so that `arguments` may not name them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

# Flag to the recipe key that decides it.
FIELD_OF: Final[Mapping[str, str]] = MappingProxyType(
    {
        "--actor-num-nodes": "gpu.count",
        "--actor-num-gpus-per-node": "gpu.per_node",
        "--num-gpus-per-node": "gpu.per_node",
        "--num-rollout": "result.steps_per_run",
        "--num-epoch": "result.steps_per_run",
        "--rollout-batch-size": "workload.global_batch",
        "--global-batch-size": "workload.global_batch",
        "--fp16": "workload.precision",
        "--bf16": "workload.precision",
        "--fp8-format": "workload.precision",
        "--loss-mask-type": "workload.dataset.build.loss_mask",
        "--tensor-model-parallel-size": "layout.tp",
        "--pipeline-model-parallel-size": "layout.pp",
        "--num-virtual-stages-per-pipeline-rank": "layout.vpp",
        "--num-layers-per-virtual-pipeline-stage": "layout.vpp",
        "--context-parallel-size": "layout.cp",
        "--expert-model-parallel-size": "layout.ep",
        "--expert-tensor-parallel-size": "layout.etp",
        "--sequence-parallel": "layout.sequence_parallel",
        "--decoder-first-pipeline-num-layers": "layout.layer_split",
        "--decoder-last-pipeline-num-layers": "layout.layer_split",
        "--pipeline-model-parallel-layout": "layout.layer_split",
        "--account-for-embedding-in-pipeline-split": "layout.layer_split",
        "--account-for-loss-in-pipeline-split": "layout.layer_split",
        "--max-tokens-per-gpu": "layout.max_tokens_per_gpu",
        "--use-dynamic-batch-size": "layout.max_tokens_per_gpu",
        "--micro-batch-size": "layout.rows_per_microbatch",
        "--recompute-granularity": "layout.recompute.granularity",
        "--recompute-activations": "layout.recompute.granularity",
        "--recompute-method": "layout.recompute.method",
        "--recompute-num-layers": "layout.recompute.num_layers",
        "--recompute-modules": "layout.recompute.modules",
        "--moe-layer-recompute": "layout.recompute.modules",
        "--optimizer-cpu-offload": "layout.offload",
        "--offload-optimizer-states": "layout.offload",
        "--fine-grained-activation-offloading": "layout.offload",
        "--cpu-offloading-num-layers": "layout.offload",
        "--moe-token-dispatcher-type": "layout.dispatcher",
        "--moe-flex-dispatcher-backend": "layout.dispatcher",
        "--moe-enable-deepep": "layout.dispatcher",
    }
)
SMOKE_FIELD_OF: Final[Mapping[str, str]] = MappingProxyType(
    {**FIELD_OF, "--seq-length": "workload.row_tokens", "--device": "gpu.type"}
)
# The launch puts the files in place and names them.
PATHS: Final = frozenset({"--hf-checkpoint", "--ref-load", "--prompt-data"})
# What makes the run supervised fine-tuning on packed rows, for every recipe alike.
TASK: Final = frozenset(
    {
        "--rollout-function-path",
        "--input-key",
        "--metadata-key",
        "--loss-type",
        "--disable-compute-advantages-and-returns",
        "--debug-train-only",
    }
)
