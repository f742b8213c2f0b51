"""Trouble that shows in the steps themselves: no finite numbers, a start from random weights, sudden silence."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import isfinite, log
from statistics import median
from typing import Final

from openrecipes.catalog.models import find_model
from openrecipes.diagnosis.findings import Finding, computed
from openrecipes.logs.run_log import RunLog
from openrecipes.logs.step import StepRecord
from openrecipes.recipe.model import Recipe

# A start from scratch guesses evenly: its loss is ln(vocabulary), a little more where the head is large at first.
_NEAR_LOW: Final = 0.95
_NEAR_HIGH: Final = 1.35
_HUGE_NORM: Final = 1e6
_JUMP: Final = 1.5
_JUMP_BEHIND: Final = 10
_SKIPPED_IN_A_ROW: Final = 20
_SILENT_UNTIMED_S: Final = 120.0
_SILENT_S: Final = 600.0
_SILENT_STEPS: Final = 10


def step_signs(run: RunLog, recipe: Recipe | None, *, means_random: bool) -> Iterator[Finding]:
    """At most one finding of each class, at the first step that shows it; `means_random`: random weights are meant."""
    yield from _not_finite(run.steps)
    yield from _scale_loop(run.steps)
    if not means_random:
        yield from _random_weights(run, recipe)
    yield from _odd_numbers(run)


def hang(run: RunLog) -> Finding | None:
    """The trainer's silence at the end of a log that goes on; None where it did not fall silent."""
    last = next((step for step in reversed(run.steps) if step.timestamp_s is not None), None)
    if last is None or last.timestamp_s is None or run.last_stamp_s is None:
        return None
    silent_s = run.last_stamp_s - last.timestamp_s
    times = [step.step_time_s for step in run.steps if step.step_time_s is not None and isfinite(step.step_time_s)]
    if last.step_time_s is None and run.format == "slime":
        is_silent = silent_s >= _SILENT_UNTIMED_S
        what = f"step {last.step} was trained and its timing never came"
    else:
        is_silent = bool(times) and silent_s >= max(_SILENT_S, _SILENT_STEPS * median(times))
        what = f"no step came after step {last.step}"
    if not is_silent:
        return None
    text = f"{what}, while the log went on for {silent_s:.0f} s"
    return computed("unknown_or_hang", text, file=last.file, line=last.line or None, stamp_s=last.timestamp_s)


def _at(name: str, step: StepRecord, text: str) -> Finding:
    return computed(name, text, file=step.file, line=step.line or None, stamp_s=step.timestamp_s)


def _not_finite(steps: Sequence[StepRecord]) -> Iterator[Finding]:
    for step in steps:
        if step.skipped:
            continue  # with a loss scale, an overflow skips the step and that is all
        bad = [
            f"{name} {value}"
            for name, value in (("loss", step.loss), ("gradient norm", step.grad_norm))
            if value is not None and not isfinite(value)
        ]
        nans = step.extra.get("number of nan iterations")
        if isinstance(nans, float) and nans > 0:
            bad.append(f"{nans:.0f} nan iterations")
        if bad:
            yield _at("nan_loss", step, f"step {step.step}: {', '.join(bad)}")
            return


def _scale_loop(steps: Sequence[StepRecord]) -> Iterator[Finding]:
    first, skipped = None, 0
    for step in reversed(steps):
        if not step.skipped or (step.skipped < step.interval and step.loss is not None):
            break
        first, skipped = step, skipped + step.skipped
    if first is not None and skipped >= _SKIPPED_IN_A_ROW:
        yield _at("loss_scale_loop", first, f"the last {skipped} steps, from step {first.step} on, were all skipped")


def _random_weights(run: RunLog, recipe: Recipe | None) -> Iterator[Finding]:
    first = next((step for step in run.steps if step.loss is not None), None)
    vocabulary = _vocabulary(run.arguments, recipe)
    if first is None or first.loss is None or vocabulary is None or (first.step or 0) > 1:
        return
    guess = log(vocabulary)
    if not _NEAR_LOW * guess <= first.loss <= _NEAR_HIGH * guess:
        return
    name = "random_weights" if recipe is not None else "random_weights_suspected"
    yield _at(name, first, f"step {first.step}: loss {first.loss:.3f}, and ln({vocabulary}) is {guess:.3f}")


def _vocabulary(arguments: Mapping[str, str], recipe: Recipe | None) -> int | None:
    for name in ("vocab_size", "padded_vocab_size"):
        said = arguments.get(name, "")
        if said.isdecimal() and 3 <= len(said) < 10:
            return int(said)
    model = find_model(recipe.model) if recipe is not None else None
    return model.shape.vocab_size if model else None


def _odd_numbers(run: RunLog) -> Iterator[Finding]:
    """What a person should look at, and what alone proves nothing."""
    huge = next((s for s in run.steps if s.grad_norm is not None and _HUGE_NORM < s.grad_norm < float("inf")), None)
    if huge is not None:
        yield _at("gradient_norm", huge, f"step {huge.step}: gradient norm {huge.grad_norm:.4g}")
    # Others print 0.000 where they did not compute it; slime prints all digits.
    still = next((s for s in run.steps if s.grad_norm == 0 and run.format == "slime" and s.loss), None)
    if still is not None:
        yield _at("nothing_learnt", still, f"step {still.step}: loss {still.loss:.3f} with a gradient norm of 0")
    yield from _jump(run)


def _jump(run: RunLog) -> Iterator[Finding]:
    for attempt in run.attempts:
        steps = [step for step in attempt if step.loss is not None and isfinite(step.loss) and step.loss > 0]
        for index, (before, step) in enumerate(pairwise(steps), start=1):
            usual = median(s.loss or 0.0 for s in steps[max(0, index - _JUMP_BEHIND) : index])
            if index > 1 and step.loss is not None and step.loss > _JUMP * usual and usual > 1:
                yield _at("loss_jump", step, f"step {step.step}: loss {step.loss:.3f} after {before.loss:.3f}")
                return
