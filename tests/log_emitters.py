"""What each trainer prints for a run of a few steps, no two numbers alike. For `tests/logs`.

Each emitter gives the lines of step i (from 0) of a run; `expected` gives the step's number, seconds and loss.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass


def _seconds(i: int) -> float:
    return 14.75 + i / 8


def _loss(i: int) -> float:
    return 1.25 - i / 64


def _slime(i: int) -> list[str]:
    return [
        f"[2026-10-11 10:{i:02}:20] model.py:909 - step {i}: {{'train/loss': {_loss(i)}, "
        f"'train/grad_norm': {2 + i / 4}, "
        f"'train/lr-pg_0': 9.087e-06, 'train/global_batch_size': 128, 'train/step': {i}}}",
        f"[2026-10-11 10:{i:02}:20] train_metric_utils.py:50 - perf {i}: {{'perf/train_wait_time': 0.25, "
        f"'perf/actor_train_time': 14.25, 'perf/train_time': {_seconds(i) - 0.25}, 'perf/step_time': {_seconds(i)}}}",
    ]


def _slime_2025(i: int) -> list[str]:
    return [
        f"step {i}: {{'train/loss': {_loss(i)}, 'train/grad_norm': {2 + i / 4}}}",
        f"perf {i}: {{'perf/train_wait_time': 0.25, 'perf/total_train_time': {_seconds(i)}}}",
    ]


def _megatron(i: int) -> list[str]:
    return [
        f" [2026-02-14 10:{i:02}:20.123456] iteration {i + 1:8d}/     100 | consumed samples: {128 * (i + 1):12d} | "
        f"elapsed time per iteration (ms): {_seconds(i) * 1e3:.1f} | throughput per GPU (TFLOP/s/GPU): 53.4 | "
        f"learning rate: 9.949739E-06 | global batch size:   128 | lm loss: {_loss(i):.6E} | loss scale: 1.0 | "
        "grad norm: 2.300 | number of skipped iterations:   0 | number of nan iterations:   0 |"
    ]


def _megatron_2022(i: int) -> list[str]:
    return [
        f" iteration {i + 1:8d}/  115311 | consumed samples: {2048 * (i + 1):12d} | "
        f"consumed tokens: {4194304 * (i + 1):12d} | "
        f"elapsed time per iteration (s): {_seconds(i):.3f} | learning rate: 4.475E-05 | global batch size:  2048 | "
        f"lm loss: {_loss(i):.6E} | grad norm: 0.150 | num zeros: 0.0 | number of skipped iterations:   0 | "
        "number of nan iterations:   0 | samples per second: 19.474 | TFLOPs: 149.10 |",
        "time (ms)",
    ]


def _megatron_2019(i: int) -> list[str]:
    return [
        f" iteration {i + 1:8d}/  320000 | elapsed time per iteration (ms): {_seconds(i) * 1e3:.1f} | "
        f"learning rate 1.496E-06 | lm loss {_loss(i):.6E} | loss scale 65536.0 |",
        "time (ms) | forward: 171.20 | backward: 330.11 | allreduce: 18.21 | optimizer: 28.90 | batch generator: 2.11",
    ]


def _bridge(i: int) -> list[str]:
    return [f"Step Time : {_seconds(i):.2f}s GPU utilization: 53.4MODEL_TFLOP/s/GPU", *_megatron(i)]


def _nemo(i: int) -> list[str]:
    return [
        f"Training epoch 1, iteration {i}/99 | lr: 1e-05 | global_batch_size: 128 | global_step: {i + 100} | "
        f"reduced_train_loss: {_loss(i)} | train_step_timing in s: {_seconds(i)} | consumed_samples: {128 * (i + 101)}"
    ]


def _dllogger(i: int) -> list[str]:
    data = {"reduced_train_loss": _loss(i), "lr": 1e-6, "global_step": float(i), "train_step_timing in s": _seconds(i)}
    return ["DLLL " + json.dumps({"timestamp": "1781.5", "type": "LOG", "step": i, "data": data})]


def _nemo_1(i: int) -> list[str]:
    return [
        f"Epoch 0: :   0%|          | {i + 1}/603000 [1:03:17<317:00:58, v_num=, reduced_train_loss={_loss(i)}, "
        f"global_step={i + 1}.0, consumed_samples=1.28e+6, train_step_timing in s={_seconds(i)}, val_loss=2.800]"
    ]


def _mllog(i: int) -> list[str]:
    record = {
        "namespace": "",
        "time_ms": 1715960318465 + 1000 * i,
        "event_type": "POINT_IN_TIME",
        "key": "tracked_stats",
        "value": {"train_step_timing in s": _seconds(i), "reduced_train_loss": _loss(i)},
        "metadata": {"file": "/workspace/llm/custom_callbacks.py", "lineno": 500, "step": 4194304 * (i + 1)},
    }
    return [":::MLLOG " + json.dumps(record)]


def _verl(i: int) -> list[str]:
    return [
        f"step:{i + 1} - global_seqlen/min:531020.000 - actor/entropy:0.561 - actor/pg_loss:{_loss(i)} - "
        f"actor/grad_norm:0.071 - perf/mfu/actor:0.343 - actor/lr:0.000 - response_length/clip_ratio:0.004 - "
        f"timing_s/gen:1.5 - timing_s/step:{_seconds(i)} - perf/total_num_tokens:2160450.000 - "
        f"perf/time_per_step:{_seconds(i)} - perf/throughput:5679.296"
    ]


def _nemo_rl(i: int) -> list[str]:
    return [
        f"{'=' * 25} Step {i + 1}/100 {'=' * 25}",
        "▶ Preparing batch...",
        "▶ Taking a training step...",
        "📊 Training Results:",
        f"  • Loss: {_loss(i)}",
        "⏱️  Timing:",
        f"  • Total step time: {_seconds(i)}s",
        "  • policy_training: 12.50s (83.1%)",
        "  • data_processing: 0.05s (0.3%)",
    ]


def _torchtitan(i: int) -> list[str]:
    return [
        f"[titan] 2026-02-24 19:{i:02}:17,508 - root - INFO - step: {i + 1:2}  loss: {_loss(i):9.6f}  "
        f"grad_norm: 26.6250  memory: 66.91GiB(37.51%)  tps: 10,050  tflops: 314.71  mfu: 13.99%"
    ]


def _swift(i: int) -> list[str]:
    return [
        str(
            {
                "loss": _loss(i),
                "grad_norm": 0.5,
                "learning_rate": 1e-05,
                "iteration": f"{i + 1}/100",
                "elapsed_time": "1m 2s",
                "remaining_time": "1h 2m 3s",
                "memory(GiB)": 66.9,
                "train_speed(s/it)": 14.7,
            }
        )
    ]


@dataclass(frozen=True)
class Emitter:
    """A trainer's form: the reader that must recognise it, its lines, the number of its first step, what it times."""

    format: str
    lines: Callable[[int], list[str]]
    first: int = 0
    times: bool = True

    def run(self, count: int) -> list[bytes]:
        return [line.encode() for i in range(count) for line in self.lines(i)]

    def expected(self, count: int) -> list[tuple[int, float | None, float]]:
        return [(self.first + i, _seconds(i) if self.times else None, _loss(i)) for i in range(count)]


EMITTERS = {
    "slime": Emitter("slime", _slime),
    "slime 2025": Emitter("slime", _slime_2025),
    "megatron": Emitter("megatron", _megatron, 1),
    "megatron 2022": Emitter("megatron", _megatron_2022, 1),
    "megatron 2019": Emitter("megatron", _megatron_2019, 1),
    "bridge": Emitter("bridge", _bridge, 1),
    "nemo": Emitter("nemo", _nemo, 100),
    "nemo 1": Emitter("nemo", _nemo_1, 1),
    "dllogger": Emitter("nemo", _dllogger),
    "mllog": Emitter("mllog", _mllog, 1),
    "verl": Emitter("verl", _verl, 1),
    "nemo-rl": Emitter("nemo-rl", _nemo_rl, 1),
    "torchtitan": Emitter("torchtitan", _torchtitan, 1, times=False),
    "swift": Emitter("swift", _swift, 1, times=False),
}
