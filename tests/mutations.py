"""What `check` must notice: a name, a change to a good recipe, the rule that it trips and the key it names.

Each rule has at least one mutation, and each mutation trips its rule and no other.
"""

import datetime
from typing import Final

import command_mutations
from good_recipes import DENSE_FILE, ODD_FILE, SMOKE_FILE, UNMEASURED, at, text_with
from mutation_changes import Mutations, fields, last_line, line, then

MUTATIONS = Mutations(command_mutations.MUTATIONS)

# Reading the file
MUTATIONS.add("file-readable", "", lambda _: None)
MUTATIONS.add("yaml-utf8", "", lambda text: text.replace("ATTUNE", "Attüne").encode("latin-1"))
MUTATIONS.add("yaml-syntax", "", line("  tp: 2", "  tp: [2"))
MUTATIONS.add("yaml-syntax", "", line("  tp: 2", "\ttp: 2"), name="a tab")
MUTATIONS.add("yaml-syntax", "", last_line("\n---\nmodel: other"), name="two documents")
MUTATIONS.add("yaml-mapping", "", lambda _: "- a list\n")
MUTATIONS.add("yaml-mapping", "", lambda _: "", name="an empty file")
MUTATIONS.add("yaml-mapping", "", lambda _: "just text\n", name="only text")
MUTATIONS.add("yaml-key", "", line("patches:", "? [a, b]\n: 1\npatches:"))
MUTATIONS.add("yaml-duplicate-key", "layout.tp", line("  tp: 2", "  tp: 2\n  tp: 4"))
MUTATIONS.add("yaml-depth", "", line("patches:", f"deep: {'[' * 60}{']' * 60}\npatches:"))
MUTATIONS.add("yaml-depth", "", line("patches:", f"deep: {'[' * 9000}{']' * 9000}\npatches:"), name="a very deep nest")
MUTATIONS.add("yaml-tag", "layout.tp", line("  tp: 2", "  tp: !!int 2"))
MUTATIONS.add(
    "yaml-tag", "status", line("status: verified", "status: !!python/name:os.system verified"), name="a Python tag"
)
MUTATIONS.add("yaml-anchor", "layout.tp", line("  tp: 2", "  tp: &two 2"))
MUTATIONS.add("yaml-anchor", "layout.ep", line("  ep: 32", "  ep: *two"), name="an alias")
MUTATIONS.add("yaml-value", "result.measured", line("measured: 2026-10-11", "measured: 2026-02-30"))
MUTATIONS.add("yaml-value", "layout.tp", line("  tp: 2", f"  tp: {'9' * 5000}"), name="a huge number")
MUTATIONS.add("yaml-number-as-text", "correctness.convergence.final_loss_difference", line("8.4e-05", "8e-05"))
MUTATIONS.add(
    "yaml-word-as-boolean", "layout.sequence_parallel", line("sequence_parallel: true", "sequence_parallel: yes")
)
MUTATIONS.add("yaml-base-60", "stack.python", line("python: '3.12'", "python: 3:12"))
MUTATIONS.add("yaml-octal", "workload.dataset.build.seed", line("seed: 42", "seed: 042"))
MUTATIONS.add("yaml-base", "workload.dataset.build.seed", line("seed: 42", "seed: 0x2A"))
MUTATIONS.add("yaml-underscore", "result.steps_per_run", line("steps_per_run: 14", "steps_per_run: 1_4"))
MUTATIONS.add("schema-missing-key", "workload.dataset.license", line("    license: ODC-By 1.0\n", ""))
MUTATIONS.add(
    "schema-missing-key",
    "result",
    lambda text: text[: text.index("result:")] + text[text.index("correctness:") :],
    name="a missing block",
)
MUTATIONS.add("schema-unknown-key", "gpu.instanse", line("  instance: AWS", "  instanse: AWS"))
MUTATIONS.add(
    "schema-unknown-key", "stack.colour", line("  cuda: '12.9'", "  cuda: '12.9'\n  colour: red"), name="a strange key"
)
MUTATIONS.add("schema-kind", "stack.cuda", line("cuda: '12.9'", "cuda: 12.9"))
MUTATIONS.add("schema-kind", "layout.tp", line("  tp: 2", "  tp: two"), name="text for a number")
MUTATIONS.add("schema-kind", "layout.tp", line("  tp: 2", "  tp: '2'"), name="a quoted number")
MUTATIONS.add("schema-kind", "layout.tp", line("  tp: 2", "  tp: 2.0"), name="a float for a whole number")
MUTATIONS.add(
    "schema-kind", "result.profiler", line("profiler: false", "profiler: 0"), name="a number for a truth value"
)
MUTATIONS.add(
    "schema-kind", "result.measured", line("measured: 2026-10-11", "measured: last week"), name="text for a day"
)
MUTATIONS.add(
    "schema-kind",
    "author",
    line("author:\n  name: ATTUNE\n  url: https://arxiv.org/abs/2610.17528", "author: ATTUNE"),
    name="text for a block",
)
MUTATIONS.add("schema-kind", "result.mfu", line("mfu: 0.054", "mfu: .inf"), name="infinity")
MUTATIONS.add("schema-choice", "status", line("status: verified", "status: verfied"))
MUTATIONS.add("schema-choice", "schema_version", line("schema_version: 1", "schema_version: 2"), name="another version")
MUTATIONS.add("schema-range", "layout.tp", line("  tp: 2", "  tp: 0"))
MUTATIONS.add("schema-range", "result.mfu", line("mfu: 0.054", "mfu: -0.054"), name="a negative figure")
MUTATIONS.add("schema-length", "result.window", line("  - 13\n", "  - 13\n  - 14\n"))
MUTATIONS.add("schema-length", "workload.rows", line("rows: SFT conversations", "rows: ''"), name="an empty text")
MUTATIONS.add("schema-pattern", "workload.dataset.rows_sha256", line("rows_sha256: 7a837641", "rows_sha256: 7A837641"))
MUTATIONS.add("schema-pattern", "env.2FAST", line("env:\n", "env:\n  2FAST: 'yes'\n"), name="a variable's name")

# File name and folder
MUTATIONS.add("path-header", "", line("attune-fast.yaml\n", "attune-slow.yaml\n"))
MUTATIONS.add("path-header", "", lambda text: text[text.index("schema_version") :], name="no header")
MUTATIONS.add(
    "path-model",
    "model",
    lambda text: at("recipes/qwen3-32b/h200/attune-fast.yaml", text),
    file="recipes/qwen3-32b/h200/attune-fast.yaml",
)
_B200: Final = "recipes/qwen3.5-397b-a17b/b200/attune-fast.yaml"
MUTATIONS.add("path-gpu", "gpu.type", lambda text: at(_B200, text), file=_B200)
MUTATIONS.add("path-author", "author.name", fields({"author.name": "Somebody Else"}))
_TP4: Final = "recipes/qwen3.5-397b-a17b/h200/attune-tp4.yaml"
MUTATIONS.add("path-layout", "layout.tp", lambda text: at(_TP4, text), file=_TP4)

# Model and GPUs
MUTATIONS.add("model-known", "model", fields({"model": "qwen3.5-397b-a17b"}, derived=()), name="another case")
_QWEN5: Final = "recipes/qwen3.5-379b-a17b/h200/attune-fast.yaml"
MUTATIONS.add(
    "model-known", "model", lambda text: at(_QWEN5, text_with(text, {"model": "Qwen3.5-379B-A17B"})), file=_QWEN5
)
_H2000: Final = "recipes/qwen3.5-397b-a17b/h2000/attune-fast.yaml"
MUTATIONS.add("gpu-known", "gpu.type", lambda text: at(_H2000, text_with(text, {"gpu.type": "H2000"})), file=_H2000)
MUTATIONS.add("gpu-memory", "gpu.memory_gb", fields({"gpu.memory_gb": 80}))
_NO_COST: Final = {"result.usd_per_million_tokens": None}
MUTATIONS.add("gpu-instance", "gpu.instance", fields({"gpu.instance": "AWS p5.48xlarge", **_NO_COST}))
MUTATIONS.add("gpu-instance-known", "gpu.instance", fields({"gpu.instance": "AWS p5em.48xlarge", **_NO_COST}))
MUTATIONS.add("gpu-per-node", "gpu.per_node", fields({"gpu.per_node": 16, "stack.network": None}))
_SLIME_ON_CPU: Final = {"trainer": "slime", "workload.precision": "bf16", "stack.framework": None}
MUTATIONS.add("gpu-trainer", "gpu.type", fields(_SLIME_ON_CPU), base=SMOKE_FILE)

# Layout
MUTATIONS.add("layout-gpus", "layout.tp", fields({"gpu.count": 120, "layout.tp": 4, "layout.ep": 2}))
MUTATIONS.add("layout-dp", "layout.dp", fields({"layout.dp": 8}))
MUTATIONS.add("layout-expert-gpus", "layout.ep", fields({"layout.ep": 64}))
_ROWS_120: Final = {"workload.global_batch": 120, "result.window_tokens": 10 * 120 * 8192}
MUTATIONS.add("layout-experts", "layout.ep", fields({"gpu.count": 96, "layout.dp": 12, "layout.ep": 3, **_ROWS_120}))
MUTATIONS.add("layout-dense", "layout.ep", fields({"layout.ep": 4}), base=DENSE_FILE)
MUTATIONS.add(
    "layout-dense",
    "layout.dispatcher",
    fields({"layout.dispatcher": "alltoall"}),
    base=DENSE_FILE,
    name="a dispatcher",
)
MUTATIONS.add("layout-dispatcher", "layout.dispatcher", fields({"layout.dispatcher": None}))
_EIGHT: Final = {"gpu.count": 32, "layout.tp": 8, "layout.dp": 1}
MUTATIONS.add("layout-heads", "layout.tp", fields(_EIGHT), base=ODD_FILE)
_SIX: Final = {"gpu.count": 48, "layout.tp": 6, "layout.dp": 2, "layout.sequence_parallel": True}
MUTATIONS.add("layout-query-groups", "layout.tp", fields(_SIX), base=ODD_FILE)
MUTATIONS.add("layout-sequence-parallel", "layout.sequence_parallel", fields({"layout.sequence_parallel": False}))
MUTATIONS.add("layout-sequence-parallel-void", "layout.sequence_parallel", fields({"layout.tp": 1, "layout.dp": 32}))
MUTATIONS.add("layout-vocabulary", "layout.tp", fields({"layout.tp": 8, "layout.dp": 4}))
MUTATIONS.add("layout-layers", "layout.pp", fields({"layout.pp": 8, "layout.dp": 8, "layout.ep": 16}))
MUTATIONS.add("layout-vpp", "layout.vpp", fields({"layout.vpp": 2, "layout.pp": 1, "layout.dp": 64}))
MUTATIONS.add("layout-split-stages", "layout.layer_split", fields({"layout.layer_split": [20, 20, 20]}))
MUTATIONS.add("layout-split-layers", "layout.layer_split", fields({"layout.layer_split": [15, 15, 15, 14]}))
MUTATIONS.add("layout-split-middle", "layout.layer_split", fields({"layout.layer_split": [14, 15, 16, 15]}))
MUTATIONS.add(
    "layout-split-vpp", "layout.layer_split", fields({"layout.vpp": 2, "layout.layer_split": [15, 15, 15, 15]})
)
MUTATIONS.add("layout-global-batch", "workload.global_batch", fields(_ROWS_120))
_ROWS_96: Final = {"workload.global_batch": 96, "result.window_tokens": 10 * 96 * 8192}
MUTATIONS.add("layout-vpp-microbatches", "layout.vpp", fields({"layout.vpp": 3, **_ROWS_96}))
MUTATIONS.add("layout-max-tokens", "layout.max_tokens_per_gpu", fields({"layout.max_tokens_per_gpu": 16384}))
MUTATIONS.add(
    "layout-max-tokens",
    "layout.max_tokens_per_gpu",
    fields({"layout.max_tokens_per_gpu": 4096}),
    name="too few tokens",
)
_ROW_8190: Final = {
    "workload.row_tokens": 8190,
    "workload.dataset.build.row_tokens": 8190,
    "result.window_tokens": None,
}
_CP2: Final = {"layout.cp": 2, "layout.dp": 2, "layout.max_tokens_per_gpu": 4095}
MUTATIONS.add("layout-cp-rows", "layout.cp", fields({**_ROW_8190, **_CP2}), base=DENSE_FILE)
MUTATIONS.add("layout-nodes", "gpu.count", fields({"gpu.per_node": 7, "stack.network": None}))
_SMALL_NODES: Final = {"gpu.per_node": 2, "stack.network": None}
MUTATIONS.add("layout-tp-node", "layout.tp", fields({"layout.tp": 4, "layout.dp": 8, **_SMALL_NODES}))
_UNPATCHED: Final = {"stack.megatron_lm": "commit 1dcf0daf (megatron-core 0.16.0rc0)"}
MUTATIONS.add("layout-gate-fix", "stack.megatron_lm", fields({"layout.tp": 4, "layout.dp": 8, **_UNPATCHED}))
MUTATIONS.add("layout-recompute", "layout.recompute.method", fields({"layout.recompute.method": None}))
MUTATIONS.add(
    "layout-recompute",
    "layout.recompute.num_layers",
    fields({"layout.recompute.granularity": "selective", "layout.recompute.method": None}),
    name="selective with layers",
)
MUTATIONS.add("layout-recompute-layers", "layout.recompute.num_layers", fields({"layout.recompute.num_layers": 16}))
MUTATIONS.add("layout-deepep", "layout.dispatcher", fields({"layout.dispatcher": "flex", "stack.deepep": None}))
MUTATIONS.add(
    "layout-recompute-modules",
    "layout.recompute.modules",
    fields(
        {"layout.recompute": {"granularity": "selective", "method": None, "num_layers": None, "modules": ["moe_actt"]}}
    ),
)
MUTATIONS.add("layout-flex", "layout.dispatcher", fields({"layout.dispatcher": "flex", "layout.ep": 1}))
_ETP3: Final = {"gpu.count": 96, "layout.dp": 12, "layout.ep": 4, "layout.etp": 3}
MUTATIONS.add("layout-widths", "layout.etp", fields({**_ETP3, **_ROWS_120}))
MUTATIONS.add(
    "layout-cp-linear",
    "layout.cp",
    fields({"layout.cp": 2, "layout.dp": 8, "layout.max_tokens_per_gpu": 4096}),
)
MUTATIONS.add("layout-allgather", "layout.dispatcher", fields({"layout.dispatcher": "allgather"}))
_OFFLOAD: Final = {"layout.offload": "activations", "arguments.offload_modules": ["core_attn", "attn_proj"]}
MUTATIONS.add("layout-offload-stages", "layout.offload", fields({**_OFFLOAD, "env.NVTE_CPU_OFFLOAD_V1": "1"}))

# Rows
MUTATIONS.add(
    "data-row-tokens", "workload.dataset.build.row_tokens", fields({"workload.dataset.build.row_tokens": 4096})
)
MUTATIONS.add("data-rows", "workload.dataset.build.rows", fields({"workload.dataset.build.rows": 1791}))
MUTATIONS.add(
    "data-loss-mask", "workload.dataset.build.loss_mask", fields({"workload.dataset.build.loss_mask": "qwen3"})
)
MUTATIONS.add(
    "data-padding",
    "workload.dataset.build.padding_tokens",
    fields({"workload.dataset.build.padding_tokens": 6400 * 8192}),
)
MUTATIONS.add("data-pinned", "workload.dataset.rows_sha256", fields({"workload.dataset.rows_sha256": None}))

# Figures
MUTATIONS.add(
    "figure-window", "result.window", fields({"result.window": [4, 14], "result.window_tokens": 11 * 128 * 8192})
)
MUTATIONS.add(
    "figure-window",
    "result.window",
    fields({"result.window": [0, 13], "result.window_tokens": 14 * 128 * 8192}),
    name="step 0 scored",
)
MUTATIONS.add(
    "figure-window", "result.window", fields({"result.window": [13, 4]}), name="a window that ends before it starts"
)
MUTATIONS.add(
    "figure-window-rule", "result.window", fields({"result.window": [5, 13], "result.window_tokens": 9 * 128 * 8192})
)
MUTATIONS.add(
    "figure-window-rule", "result.rule", fields({"result.rule": "skip-quater/1"}), name="a rule that nobody knows"
)
MUTATIONS.add(
    "figure-window-rule",
    "result.window",
    fields({"result.rule": "last-10/1", "result.window": [3, 12]}),
    name="another rule",
)
MUTATIONS.add(
    "figure-window-rule", "result.window", fields({"result.rule": "window 3:12"}), name="another explicit window"
)
MUTATIONS.add("figure-window-tokens", "result.window_tokens", fields({"result.window_tokens": 10485761}))
MUTATIONS.add("figure-usd", "result.usd_per_million_tokens", fields({"result.usd_per_million_tokens": 4.04}))
MUTATIONS.add("figure-usd-price", "result.usd_per_million_tokens", fields({"gpu.instance": None}))
MUTATIONS.add("figure-mfu", "result.mfu", fields({"result.mfu": 0.0541}))
MUTATIONS.add(
    "figure-rate",
    "result.tokens_per_s_per_gpu",
    fields({"result.tokens_per_s_per_gpu": 34307.2, "result.confidence_interval": None}),
)
MUTATIONS.add(
    "figure-rate",
    "result.tokens_per_s_per_gpu",
    fields(
        {
            "result.tokens_per_s_per_gpu": 34307.2,
            "result.confidence_interval": None,
            "result.mfu": 3.3991,
            "result.usd_per_million_tokens": 0.06,
        }
    ),
    name="the rate of all GPUs together, with the figures that follow from it",
)
MUTATIONS.add("figure-mfu-note", "result.mfu_note", fields({"result.mfu": None}))
MUTATIONS.add("figure-mfu-peak", "result.mfu", fields({"result.mfu": 0.1}), base=SMOKE_FILE)
MUTATIONS.add(
    "figure-active-params",
    "result.active_params.count",
    fields({"result.active_params.count": 17 * 10**9, "result.mfu": 0.0562}),
)
MUTATIONS.add("figure-gpu-hours", "result.gpu_hours", fields({"result.gpu_hours": 5.3}))
MUTATIONS.add("figure-interval", "result.confidence_interval", fields({"result.confidence_interval": [530.1, 541.9]}))

# Status and evidence
MUTATIONS.add("status-measured", "result.runs", fields({"result.runs": None}))
MUTATIONS.add(
    "status-draft", "result.step_time_cv_percent", fields({**UNMEASURED, "result.step_time_cv_percent": 1.14})
)
_MEASURED_SMOKE: Final = {
    "status": "measured",
    "workload.dataset.rows_sha256": "0" * 64,
    "result.tokens_per_s_per_gpu": 900.5,
    "result.step_time_cv_percent": 2.0,
    "result.measured": datetime.date(2026, 11, 30),
    "result.runs": 1,
}
_OWN: Final = "recipes/qwen3.5-moe-mini/cpu/openrecipes-dp2.yaml"
MUTATIONS.add(
    "status-smoke", "status", lambda text: at(_OWN, text_with(text, _MEASURED_SMOKE)), base=SMOKE_FILE, file=_OWN
)
MUTATIONS.add("status-verified", "status", fields({"correctness.configuration": None}))
MUTATIONS.add("status-verified", "status", fields({"correctness": None}), name="no evidence")
MUTATIONS.add("status-worth", "status", fields({"correctness.convergence.reference_log_sha256": None}))
MUTATIONS.add("evidence-result", "correctness.result", fields({"correctness.convergence.result": "fail"}))
MUTATIONS.add(
    "evidence-convergence",
    "correctness.convergence.pointwise_failures",
    fields({"correctness.convergence.pointwise_failures": 21}),
)

# Words against fields
MUTATIONS.add("words-label", "layout.label", line("label: TP2 PP4 EP32 DP16", "label: TP2 PP4 EP32 DP8"))
MUTATIONS.add("words-degrees", "layout.summary", line("summary: TP 2, PP 4", "summary: TP 2, PP 2"))
MUTATIONS.add("words-rows", "layout.summary", line("one 8,192-token row", "two 8,192-token rows"))
MUTATIONS.add("words-rows", "layout.summary", line("one 8,192-token row", "one 4,096-token row"), name="another row")
MUTATIONS.add("words-recompute", "layout.summary", line("(uniform, 1 layer)", "(uniform, 2 layers)"))
MUTATIONS.add("words-dispatcher", "layout.summary", line("alltoall dispatcher", "flex dispatcher"))
MUTATIONS.add("words-offload", "layout.highlights", line("tokens/GPU, no offload", "tokens/GPU, optimizer offload"))
_TP1: Final = {"layout.tp": 1, "layout.dp": 32, "layout.sequence_parallel": False}
MUTATIONS.add(
    "words-sequence-parallel", "layout.summary", then(fields(_TP1), line("DP 32;", "DP 32, sequence parallel;"))
)
MUTATIONS.add("words-max-tokens", "layout.highlights", line("max 8,192 tokens/GPU", "max 16,384 tokens/GPU"))
MUTATIONS.add(
    "words-command", "layout.summary", fields({"arguments.use_precision_aware_optimizer": False}, derived=("run",))
)
MUTATIONS.add(
    "words-command",
    "layout.summary",
    fields({"arguments.moe_permute_fusion": False}, derived=("run",)),
    name="permute fusion",
)
MUTATIONS.add(
    "words-command",
    "layout.highlights",
    fields({"layout.highlights": "max 8,192 tokens/GPU, no offload, fused attention"}, derived=()),
    name="another value",
)
MUTATIONS.add(
    "words-command",
    "layout.highlights",
    fields({"layout.highlights": "max 8,192 tokens/GPU, no offload, no permute fusion"}, derived=()),
    name="denied, but there",
)
MUTATIONS.add(
    "words-dispatcher",
    "layout.highlights",
    fields({"layout.highlights": "max 8,192 tokens/GPU, no offload, DeepEP"}, derived=()),
    name="DeepEP",
)
MUTATIONS.add("words-permute-fusion", "layout.summary", fields({"arguments": None}))
for said in ("128 GPUs per node, EFA", "8 GPUs in one node, NVLink", "8 GPUs a node, EFA between 2 nodes"):
    MUTATIONS.add("words-network", "stack.network", fields({"stack.network": said}), name=said)
MUTATIONS.add("words-patches", "patches", fields({"patches": []}))
_ADMISSION: Final = "GPUs x (scheduler admission to finish), including startup"
MUTATIONS.add("words-gpu-hours", "result.gpu_hours_note", fields({"result.gpu_hours_note": _ADMISSION}))
