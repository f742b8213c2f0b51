"""Runs made up for tests of the score: 14 steady steps of 15 s, 128 rows of 8,192 tokens on 128 GPUs, and their log."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from openrecipes.logs.step import StepRecord
from openrecipes.score.expected import Expected
from openrecipes.score.run_evidence import Run

TOKENS = 128 * 8192
# A first step that compiles, then a spread of about 0.7 % without a trend.
TIMES = (70.0, 16.0, 15.3, 15.2, 15.0, 15.1, 14.9, 15.2, 15.0, 14.8, 15.1, 15.0, 15.2, 14.9)
EXPECTED = Expected(gpus=128, global_batch=128, row_tokens=8192, steps_per_run=14, window=(4, 13), dp=16)
START_S = 1_790_000_000.0


def made_steps(times: Sequence[float] = TIMES) -> list[StepRecord]:
    """One record a step, as a slime log gives them, the log's clock in step with the times."""
    steps, now = [], START_S
    for number, time in enumerate(times):
        now += time if 0 < time < 1e9 else 0.0
        steps.append(
            StepRecord(
                step=number,
                step_time_s=time,
                train_time_s=0.98 * time,
                wait_time_s=0.02 * time,
                loss=1.5 - 0.01 * number,
                grad_norm=2.0,
                lr=1e-5,
                tokens=TOKENS,
                global_batch=128,
                line=100 + number,
                file="train.log",
                timestamp_s=float(int(now)),
            )
        )
    return steps


def made_run(steps: Sequence[StepRecord] | None = None, **changes: object) -> Run:
    """A run of these steps."""
    run = Run(
        name="train.log",
        steps=tuple(made_steps() if steps is None else steps),
        format="slime",
        log_sha256="a" * 64,
        last_stamp_s=START_S + 300,
    )
    return replace(run, **changes)  # type: ignore[arg-type]


def slime_log(times: Sequence[float] = TIMES, *, tokens: int = TOKENS, rows: int = 128) -> str:
    """A slime log with these step times: no argument dump, stamps of whole seconds."""
    lines, now = [], START_S
    for number, time in enumerate(times):
        now += time
        stamp = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M:%S")
        train = 0.98 * time
        step = {"train/loss": 1.5 - 0.01 * number, "train/grad_norm": 2.0, "train/lr-pg_0": 1e-5}
        step |= {"train/global_batch_size": rows, "train/step": number}
        perf = {"perf/train_wait_time": time - train, "perf/actor_train_time": train, "perf/train_time": train}
        perf |= {"perf/actor_train_tok_per_s": tokens / train, "perf/step_time": time}
        lines.append(f"(MegatronTrainRayActor pid=7) [{stamp}] model.py:909 - step {number}: {step}")
        lines.append(f"(MegatronTrainRayActor pid=7) [{stamp}] train_metric_utils.py:50 - perf {number}: {perf}")
    return "\n".join(lines) + "\n"
