"""Runs whose every number is drawn, as each trainer prints them: the ground truth that a reading is held against.

`log_emitters` has numbers that are easy to see; here they have as many digits as real ones, so that a wrap that cuts
one leaves another number. For `tests/logs`.
"""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Reading = Mapping[int, tuple[float | None, float]]


@dataclass(frozen=True)
class Drawn:
    """One step: its place from 0, seconds, loss, learning rate."""

    i: int
    s: float
    loss: float
    lr: float


def drawn(chance: random.Random, count: int) -> list[Drawn]:
    """A run of `count` steps, fast or slow."""
    base = chance.choice([0.05, 1.7, 15.0, 230.0])
    return [
        Drawn(i, round(base * chance.uniform(0.8, 1.3), 9), chance.uniform(0.5, 12.4), chance.uniform(1e-7, 1e-4))
        for i in range(count)
    ]


def _printed(chance: random.Random, value: float) -> str:
    return chance.choice([repr(value), repr(value), f"np.float64({value!r})", f"tensor({value!r}, device='cuda:0')"])


def _slime(t: Drawn, chance: random.Random) -> list[str]:
    loss, seconds = _printed(chance, t.loss), _printed(chance, t.s)
    clock = f"[2026-10-11 10:{t.i:02}:20]"
    return [
        f"{clock} model.py:909 - step {t.i}: {{'train/loss': {loss}, 'train/grad_norm': 2.5, "
        f"'train/lr-pg_0': {t.lr!r}, 'train/global_batch_size': 128, 'train/step': {t.i}}}",
        f"{clock} metrics.py:50 - perf {t.i}: {{'perf/train_wait_time': 0.25, 'perf/actor_train_time': {t.s * 0.97!r}, "
        f"'perf/train_time': {t.s * 0.98!r}, 'perf/step_time': {seconds}, 'perf/wait_time_ratio': 0.027}}",
    ]


def _megatron(t: Drawn, chance: random.Random) -> list[str]:
    return [
        f" [2026-02-14 10:{t.i:02}:20.123456] iteration {t.i + 1:8d}/     100 | consumed samples: {128 * t.i + 128:12d}"
        f" | elapsed time per iteration (ms): {t.s * 1e3:.1f} | throughput per GPU (TFLOP/s/GPU): "
        f"{chance.uniform(20, 700):.1f} | learning rate: {t.lr:.6E} | global batch size:   128 | lm loss: {t.loss:.6E} "
        "| loss scale: 1.0 | grad norm: 2.300 | number of skipped iterations:   0 | number of nan iterations:   0 |"
    ]


def _bridge(t: Drawn, chance: random.Random) -> list[str]:
    line = _megatron(t, chance)[0].replace("number of skipped", "max attention logit: 1.000 | number of skipped")
    return [f"Step Time : {t.s + 0.01:.2f}s GPU utilization: 53.4MODEL_TFLOP/s/GPU", line]


def _nemo(t: Drawn, _: random.Random) -> list[str]:
    return [
        f"Training epoch {t.i // 4}, iteration {t.i % 4}/3 | lr: {t.lr:.4g} | global_batch_size: 128 | "
        f"global_step: {t.i} | reduced_train_loss: {t.loss:.4g} | train_step_timing in s: {t.s:.4g}"
        + (f" | consumed_samples: {128 * t.i + 128}" if t.i else "")
    ]


def _mllog(t: Drawn, _: random.Random) -> list[str]:
    record = {
        "time_ms": 1715960318465 + 1000 * t.i,
        "key": "tracked_stats",
        "value": {"train_step_timing in s": t.s, "reduced_train_loss": t.loss},
        "metadata": {"file": "/workspace/llm/custom_callbacks.py", "lineno": 500, "step": 4194304 * (t.i + 1)},
    }
    return [":::MLLOG " + json.dumps(record)]


def _verl(t: Drawn, chance: random.Random) -> list[str]:
    return [
        f"step:{t.i + 1} - actor/entropy:{chance.random():.3f} - actor/pg_loss:{t.loss:.3f} - actor/grad_norm:0.071 - "
        f"perf/mfu/actor:0.343 - actor/lr:0.000 - timing_s/gen:{t.s / 3:.3f} - timing_s/step:{t.s:.3f} - "
        f"perf/total_num_tokens:2160450.000 - perf/time_per_step:{t.s:.3f} - perf/throughput:5679.296"
    ]


def _nemo_rl(t: Drawn, _: random.Random) -> list[str]:
    return [
        f"{'=' * 25} Step {t.i + 1}/100 {'=' * 25}",
        "▶ Preparing batch...",
        "📊 Training Results:",
        f"  • Loss: {t.loss:.4f}",
        f"  • Total step time: {t.s:.2f}s",
        f"  • policy_training: {t.s * 0.9:.2f}s (83.1%)",
    ]


def _torchtitan(t: Drawn, chance: random.Random) -> list[str]:
    return [
        f"[titan] 2026-02-24 19:{t.i:02}:17,508 - root - INFO - step: {t.i + 1:2}  loss: {t.loss:7.4f}  "
        f"grad_norm: {chance.uniform(0, 30):7.4f}  memory: 66.91GiB(37.51%)  tps: 10,050  tflops: 314.71  mfu: 13.99%"
    ]


@dataclass(frozen=True)
class Truth:
    """A trainer's form: its format, its lines, its first step's number, and the digits that it prints."""

    format: str
    lines: Callable[[Drawn, random.Random], list[str]]
    first: int
    seconds: Callable[[float], float | None]
    loss: Callable[[float], float]

    def reading(self, run: list[Drawn]) -> Reading:
        """Seconds and loss by step number, as printed."""
        return {self.first + t.i: (self.seconds(t.s), self.loss(t.loss)) for t in run}


def _to(form: str, unit: float = 1.0) -> Callable[[float], float]:
    return lambda value: float(format(value * unit, form)) / unit


TRUTHS = {
    "slime": Truth("slime", _slime, 0, float, float),
    "megatron": Truth("megatron", _megatron, 1, _to(".1f", 1e3), _to(".6E")),
    "bridge": Truth("bridge", _bridge, 1, _to(".1f", 1e3), _to(".6E")),
    "nemo": Truth("nemo", _nemo, 0, _to(".4g"), _to(".4g")),
    "mllog": Truth("mllog", _mllog, 1, float, float),
    "verl": Truth("verl", _verl, 1, _to(".3f"), _to(".3f")),
    "nemo-rl": Truth("nemo-rl", _nemo_rl, 1, _to(".2f"), _to(".4f")),
    "torchtitan": Truth("torchtitan", _torchtitan, 1, lambda _: None, _to(".4f")),
}
