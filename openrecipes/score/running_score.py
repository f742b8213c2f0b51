"""The score of a run that goes on: its window so far, how far it still is, and whether it can be scored at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

from openrecipes.figures import throughput
from openrecipes.logs.step import StepRecord
from openrecipes.problems import Problem
from openrecipes.score.expected import Expected, expected_by_hand
from openrecipes.score.run_evidence import Run
from openrecipes.score.run_refusals import run_refusals, steps_of_dump
from openrecipes.score.scene import Scene
from openrecipes.score.step_refusals import is_plausible, step_refusals
from openrecipes.score.training_refusals import training_refusals
from openrecipes.score.window import AS_STATED, STEADY_LIMITS, ScoredWindow, scored_window

_RECENT: Final = 8
# Refusals that no later step can mend.
LASTING: Final = frozenset(
    {
        *("step-time-not-finite", "step-time-not-positive", "step-time-implausible", "step-time-parts"),
        *("steps-repeated", "steps-averaged", "window-restarted", "steps-missing", "loss-not-finite"),
        *("grad-norm-not-finite", "steps-surplus", "global-batch", "tokens-per-step", "log-of-another-recipe"),
        *("run-of-another-recipe", "mock-data", "forced-balance", "profiler-running", "supervised-tokens"),
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningScore:
    """Where a run stands against its window.

    `window` is None where nothing says how long the run is. `tokens_per_s_per_gpu` and `step_time_cv_percent` are
    over the scored steps so far; `left_s` estimates the time to the window's end. `lost` holds refusals that no
    later step can mend, `unsteady` says in words how the window is unsteady by now.
    """

    window: ScoredWindow | None
    scored: int
    tokens_per_s_per_gpu: float | None
    step_time_cv_percent: float | None
    left_s: float | None
    lost: tuple[Problem, ...]
    unsteady: str | None


def running_score(expected: Expected | None, run: Run) -> RunningScore:
    """The score so far of a run with at least the steps that its log holds by now.

    Without `expected`, window and rate follow from the trainer's own arguments, as far as the log has them.
    """
    stated = expected or _of_arguments(run)
    steps = (stated.steps_per_run if stated else None) or steps_of_dump(run.arguments)
    window = scored_window(AS_STATED, stated.window if stated else None, steps) if steps else None
    if window is None or steps is None:
        return RunningScore(
            window=None,
            scored=0,
            tokens_per_s_per_gpu=None,
            step_time_cv_percent=None,
            left_s=None,
            lost=(),
            unsteady=None,
        )
    scene = Scene(run=run, expected=stated or _NOTHING_STATED, window=window, steps_per_run=steps)
    times = [time for step in scene.scored if (time := step.step_time_s) is not None and is_plausible(time)]
    return RunningScore(
        window=window,
        scored=len(times),
        tokens_per_s_per_gpu=_rate(stated, times),
        step_time_cv_percent=throughput.step_time_cv_percent(times) if len(times) > 1 else None,
        left_s=_left_s(run, window),
        lost=tuple(_lost(scene, is_stated=stated is not None)),
        unsteady=_unsteady(times, window),
    )


_NOTHING_STATED: Final = Expected(gpus=1, global_batch=1, row_tokens=1)


def _of_arguments(run: Run) -> Expected | None:
    gpus, batch = (_count(run.arguments, name) for name in ("world_size", "global_batch_size"))
    tokens = next((step.tokens for step in run.steps if step.tokens and step.global_batch), None)
    if gpus is None or batch is None or tokens is None or tokens % batch:
        return None
    return expected_by_hand(gpus=gpus, global_batch=batch, row_tokens=tokens // batch)


def _count(arguments: Mapping[str, str], name: str) -> int | None:
    said = arguments.get(name, "")
    return int(said) if said.isdecimal() and 0 < len(said) < 10 and int(said) else None


def _rate(stated: Expected | None, times: list[float]) -> float | None:
    if stated is None or not times:
        return None
    return throughput.tokens_per_s_per_gpu(len(times) * stated.tokens_per_step, sum(times), stated.gpus)


def _left_s(run: Run, window: ScoredWindow) -> float | None:
    numbers = [number for step in run.steps if (number := run.number(step)) is not None]
    times = [time for step in run.steps[1:] if (time := step.step_time_s) is not None and is_plausible(time)]
    if not times:
        return None
    return median(times[-_RECENT:]) * max(0, window.last - max(numbers, default=-1))


def _lost(scene: Scene, *, is_stated: bool) -> list[Problem]:
    last = max((number for step in scene.run.steps if (number := scene.run.number(step)) is not None), default=-1)
    reached = scene if last >= scene.window.first else None
    found: list[Problem] = []
    if reached is not None:
        found += step_refusals(scene)
    if is_stated:
        found += [*run_refusals(scene), *(training_refusals(scene) if reached is not None else ())]
    return [problem for problem in found if problem.severity == "error" and problem.rule in LASTING]


def _unsteady(times: list[float], window: ScoredWindow) -> str | None:
    """A step far over the median, once most of the window is there to tell what is usual."""
    if 2 * len(times) <= window.steps:
        return None
    slowest, usual = max(times), median(times)
    if slowest <= STEADY_LIMITS.step_over_median * usual:
        return None
    return f"a step of the window took {slowest:.2f} s, over {STEADY_LIMITS.step_over_median:g} times the median"


def slowest_rank(latest: Mapping[str, StepRecord]) -> tuple[str, float, float] | None:
    """Who took longest for the newest step, its seconds, and how far over the median of all (a fraction).

    `latest` holds the newest step by rank or file. None for fewer than two of them.
    """
    times = {who: time for who, step in latest.items() if (time := step.step_time_s) and is_plausible(time)}
    if len(times) < 2:
        return None
    who = max(times, key=lambda name: times[name])
    return who, times[who], times[who] / median(times.values()) - 1
