"""What forbids a figure in the step records themselves."""

import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from math import isfinite
from typing import Final

from openrecipes import units
from openrecipes.logs.step import StepRecord
from openrecipes.problems import Problem
from openrecipes.score.scene import Scene, ranges

# A microsecond to thirty years: whatever prints other times has lost its unit, and figures of them overflow.
_SHORTEST_STEP_S: Final = 1e-6
_LONGEST_STEP_S: Final = 1e9

_SUM_ROUNDING: Final = 1e-6

_RATE: Final = re.compile(r"\b(?:tps|wps|train_speed|tokens_per_sec|samples per second|throughput|s/it|it/s)\b|_per_s")


def is_plausible(step_time_s: float) -> bool:
    """Whether a step can have taken this time at all; false for nan."""
    return _SHORTEST_STEP_S <= step_time_s <= _LONGEST_STEP_S


def step_refusals(scene: Scene) -> Iterator[Problem]:
    """Every problem of the window's records: missing, repeated, without a usable time, averaged, cut short."""
    yield from _first_step(scene)
    yield from _length(scene)
    averaged = tuple(_averaged(scene))
    yield from averaged or _missing(scene)
    repeated = tuple(_repeated(scene))
    yield from repeated or _restarted(scene)
    yield from _times(scene)
    yield from _parts(scene)


def _first_step(scene: Scene) -> Iterator[Problem]:
    if scene.window.first == 0:
        yield scene.problem(
            "window-first-step",
            f"the window {scene.window.first}..{scene.window.last} holds step 0, which pays for compilation and set-up",
            "start the window at step 1 or later",
        )
    if scene.window.steps < 2:
        yield scene.problem(
            "window-too-short",
            f"the window {scene.window.first}..{scene.window.last} holds one step, so it has no spread",
            "score at least two steps",
        )


def _length(scene: Scene) -> Iterator[Problem]:
    numbers = [number for step in scene.run.steps if (number := scene.run.number(step)) is not None]
    if not numbers:
        yield scene.problem(
            "steps-unnumbered",
            f"none of the {len(scene.run.steps)} steps has a number of its own",
            "score a log whose step records hold their numbers",
        )
        return
    last, steps = max(numbers), scene.steps_per_run
    if last + 1 < steps:
        yield scene.problem(
            "steps-short",
            f"the log ends at step {last}, but the run has {units.counted(steps, 'step')} (0-{steps - 1})",
            "score the log of a run that finished",
        )
    elif last + 1 > steps:
        yield scene.problem(
            "steps-surplus",
            f"the log goes on to step {last}, but the run has {units.counted(steps, 'step')} (0-{steps - 1})",
            f"score it with a recipe of {units.counted(last + 1, 'step')}: "
            "a longer run has another learning rate schedule",
        )
    if scene.window.last >= steps:
        yield scene.problem(
            "window-outside",
            f"the window {scene.window.first}..{scene.window.last} ends after the last step, {steps - 1}",
            f"end it at step {steps - 1} or earlier",
        )


def _averaged(scene: Scene) -> Iterator[Problem]:
    for step in scene.run.steps:
        number = scene.run.number(step)
        over = max(step.interval, step.timed_over)
        if number is None or over == 1 or number < scene.window.first or number - over >= scene.window.last:
            continue
        yield scene.problem(
            "steps-averaged",
            f"step {step.step} is timed together with others: one mean over {over} steps",
            "log every step (--log-interval 1, rollout batch equal to global batch); a mean hides the spread",
            at=step,
        )
        return


def _missing(scene: Scene) -> Iterator[Problem]:
    there = {scene.run.number(step) for step in scene.run.steps}
    last = max((number for number in there if number is not None), default=-1)
    wanted = range(scene.window.first, min(scene.window.last, last) + 1)
    # A recipe may state a window of any length; the first thousand gaps say enough.
    missing = list(islice((number for number in wanted if number not in there), 1000))
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        yield scene.problem(
            "steps-missing",
            f"step {ranges(missing)} of the window {scene.window.first}..{scene.window.last} {verb} not in the log",
            "score the whole log, with the output of every node",
        )


def _repeated(scene: Scene) -> Iterator[Problem]:
    seen = Counter(scene.run.number(step) for step in scene.scored)
    repeated = [number for number, times in seen.items() if times > 1 and number is not None]
    if repeated:
        second = [step for step in scene.scored if scene.run.number(step) == repeated[0]][1]
        yield scene.problem(
            "steps-repeated",
            f"step {ranges(repeated)} of the window stands in the log more than once, with different values",
            "score one attempt alone: cut the log at the restart, or give each run its own file",
            at=second,
        )


def _restarted(scene: Scene) -> Iterator[Problem]:
    scored = scene.scored
    attempts = {step.attempt for step in scored}
    starts = {
        attempt: next(step for step in scene.run.steps if step.attempt == attempt)
        for attempt in attempts
        if attempt > 0
    }
    inside = [first for first in starts.values() if scene.is_scored(first)]
    if inside or len(attempts) > 1:
        at = inside[0] if inside else next(iter(starts.values()))
        yield scene.problem(
            "window-restarted",
            f"the run was started again at step {at.step}, and the window holds steps of both or that first step",
            "score a run that went through in one go",
            at=at,
        )


def _times(scene: Scene) -> Iterator[Problem]:
    again = "score a run whose window has a positive time for every step"
    if scene.run.steps and all(step.step_time_s is None for step in scene.run.steps):
        rates = next((name for step in scene.run.steps for name in step.extra if _RATE.search(name)), None)
        yield scene.problem(
            "only-averaged-rates" if rates else "step-times-absent",
            "the log tells no step time" + (f", only rates averaged by the trainer ({rates})" if rates else ""),
            "score a log that tells each step's own time: an average is none, and hides the spread",
            at=scene.run.steps[0],
        )
        return
    for step in scene.scored:
        time = step.step_time_s
        if time is None:
            yield scene.problem("step-time-absent", f"step {step.step} has no step time", again, at=step)
        elif not isfinite(time):
            yield scene.problem("step-time-not-finite", f"step {step.step} took {time} s", again, at=step)
        elif time <= 0:
            yield scene.problem("step-time-not-positive", f"step {step.step} took {time} s", again, at=step)
        elif not is_plausible(time):
            what = f"step {step.step} took {time:g} s, which no optimizer step does"
            yield scene.problem("step-time-implausible", what, again, at=step)


def _parts(scene: Scene) -> Iterator[Problem]:
    """Step times that are not their own wait and training: something broke a number, or they time something else."""
    apart = {step: off for step in scene.scored if (off := _off_parts(step)) > 0}
    if not apart:
        return
    worst = max(apart, key=lambda step: apart[step])
    yield scene.problem(
        "step-time-parts",
        f"step {ranges(number for step in apart if (number := scene.run.number(step)) is not None)}: wait and training "
        f"do not make up the step time; step {worst.step} took {worst.step_time_s:g} s, but waited "
        f"{worst.wait_time_s:g} s and trained {worst.train_time_s:g} s",
        "look at these lines of the log: a number in them is damaged, or not a whole step's",
        at=worst,
    )


def _off_parts(step: StepRecord) -> float:
    """Seconds by which a step's time differs from its parts, beyond how finely they are printed; 0 where unsaid."""
    whole, train, wait = step.step_time_s, step.train_time_s, step.wait_time_s
    if whole is None or train is None or wait is None or not is_plausible(whole) or not isfinite(train + wait):
        return 0.0
    off = abs(whole - train - wait)
    return off if off > sum(map(_half_a_digit, (whole, train, wait))) + _SUM_ROUNDING * whole else 0.0


def _half_a_digit(value: float) -> float:
    """Half of the last digit with which a number was printed: by so much rounding may have moved it."""
    exponent = Decimal(repr(value)).as_tuple().exponent
    return 0.5 * 10.0 ** min(exponent, -1) if isinstance(exponent, int) else 0.0
