"""Runs slime's own RolloutManager code, from the checkout in $SLIME_DIR, on packed rows; prints JSON.

    slime_checkout.py ROWS.parquet

It runs in a process of its own. Ray, sglang and what else slime imports but does not use here are stand-ins;
Sample, Dataset, RolloutDataSource, RolloutManager's conversion and the data parallel schedule are slime's.
"""

import hashlib
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

STAND_INS = ("ray", "sglang", "sglang_router", "wandb", "httpx", "PIL", "tensorboard", "pybase64")
LAUNCH = Path(__file__).resolve().parent.parent.parent / "launch"


class StandIn(ModuleType):
    """A module in which every name is a class."""

    __path__: Sequence[str] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        top = name.partition(".")[0]
        return importlib.machinery.ModuleSpec(name, self) if top in STAND_INS else None

    def create_module(self, spec: Any) -> ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: Any) -> None:
        if module.__name__ == "ray":
            module.remote = lambda target=None, **_: target or (lambda decorated: decorated)
            module.put = module.get = lambda value, **_: value


def arguments(rows: str, **changes: Any) -> SimpleNamespace:
    """The fields that slime's code reads, as its parser sets them for the published recipes."""
    off = (
        "dump_details",
        "rollout_max_prompt_len",
        "multimodal_keys",
        "label_key",
        "apply_chat_template_kwargs",
        "load",
    )
    off += ("buffer_filter_path", "load_debug_rollout_data", "custom_rollout_log_function_path", "log_passrate")
    values = dict.fromkeys(off) | {
        "hf_checkpoint": "unused", "prompt_data": rows, "input_key": "messages", "metadata_key": "metadata",
        "tool_key": "tools", "apply_chat_template": False, "rollout_seed": 42, "rollout_shuffle": False,
        "rollout_global_dataset": True, "n_samples_per_prompt": 1, "rollout_batch_size": 8, "global_batch_size": 8,
        "num_rollout": 3, "use_dynamic_batch_size": True, "max_tokens_per_gpu": 64, "context_parallel_size": 1,
        "balance_data": False, "balance_by_flops": False, "vocab_size": 1000, "reward_key": None,
        "advantage_estimator": "grpo", "rewards_normalization": True, "grpo_std_normalization": False,
    }  # fmt: skip
    return SimpleNamespace(**(values | changes))


def manager(rollout: Any, data_source: Any, args: Any, ranks: int) -> Any:
    """slime's RolloutManager without the engines that its constructor would start."""
    made = object.__new__(rollout.RolloutManager)
    made.args, made.data_source = args, data_source.RolloutDataSourceWithBuffer(args)
    made.generate_rollout = importlib.import_module("pretokenized_sft_rollout").generate_rollout
    made.custom_reward_post_process_func = made.custom_convert_samples_to_train_data_func = None
    made.set_train_parallel_config(
        {"dp_size": ranks, "cp_size": 1, "vpp_size": 1, "microbatch_group_size_per_vp_stage": 1}
    )
    return made


def dealt(made: Any, rollout_id: int) -> list[Any]:
    """What slime would send to each rank for one batch."""
    samples, _ = made._get_rollout_data(rollout_id)
    boxes = made._split_train_data_by_dp(made._convert_samples_to_train_data(samples))
    return [plain(box.inner) for box in boxes]


def plain(rank: Any) -> dict[str, Any]:
    def values(column: Any) -> list[Any]:
        return [item.tolist() if hasattr(item, "tolist") else item for item in column]

    tokens = [hashlib.sha256(json.dumps(row).encode()).hexdigest() for row in values(rank["tokens"])]
    columns = ("response_lengths", "loss_masks", "micro_batch_indices", "global_batch_sizes", "total_lengths")
    return {"tokens": tokens} | {name: values(rank[name]) for name in columns}


def main() -> None:
    rows = sys.argv[1]
    sys.meta_path.insert(0, Finder())
    sys.path[:0] = [os.environ["SLIME_DIR"], str(LAUNCH)]
    data_source = importlib.import_module("slime.rollout.data_source")
    data_source.load_tokenizer = data_source.load_processor = lambda *_, **__: None
    rollout = importlib.import_module("slime.ray.rollout")
    out: dict[str, Any] = {}
    for ranks in (1, 2, 4, 8):
        made = manager(rollout, data_source, arguments(rows), ranks)
        out[f"ranks {ranks}"] = [dealt(made, number) for number in range(3)]
    out["resumed at 2"] = dealt(manager(rollout, data_source, arguments(rows), 2), 2)
    packed = manager(rollout, data_source, arguments(rows, max_tokens_per_gpu=128), 2)
    out["two rows a microbatch"] = dealt(packed, 0)
    source = data_source.RolloutDataSourceWithBuffer(arguments(rows))
    out["slime's own past the end"] = len(source.get_samples(32))
    try:
        dealt(manager(rollout, data_source, arguments(rows, num_rollout=None), 2), 3)
    except ValueError as problem:
        out["ours past the end"] = str(problem)
    print(json.dumps(out))


if __name__ == "__main__":
    main()
