"""Whether two runs solve the same optimization problem: the same learning rate at each step, the same run length."""

from collections.abc import Iterator
from math import isclose
from typing import Final

from openrecipes.correctness.curve import Curve
from openrecipes.problems import Place, Problem

# Megatron prints seven digits, slime all of them.
_LR_TOLERANCE: Final = 2e-6
_SIZED = "the schedule is sized from the run's length, so these are different optimization problems from step 1 on"
_SIZES: Final = ("num_rollout", "rollout_batch_size", "n_samples_per_prompt", "global_batch_size", "train_iters")
_MEND = (
    "run both with as many steps (--set result.steps_per_run=N), or give both the same lr_decay_iters and "
    "lr_warmup_iters in arguments"
)


def schedule_refusals(candidate: Curve, reference: Curve) -> Iterator[Problem]:
    """Why the two curves must not be compared at all: different schedules."""
    differs = _first_other_rate(candidate, reference)
    lengths = tuple(_length(arm) for arm in (candidate, reference))
    if differs is not None:
        step, ours, theirs = differs
        what = f"learning rate {ours:g} at step {step}, where {reference.name} has {theirs:g}"
        if lengths[0] != lengths[1]:
            what += f": a run of {lengths[0]} steps against one of {lengths[1]}; {_SIZED}"
        yield _refusal(candidate, what, _MEND if lengths[0] != lengths[1] else "run both with the same schedule")
    elif lengths[0] != lengths[1] and not states_rates(candidate, reference):
        what = f"a run of {lengths[0]} steps against one of {lengths[1]} ({reference.name}); {_SIZED}"
        yield _refusal(candidate, f"{what}, and the logs print no learning rate that would say otherwise", _MEND)


def frozen_refusals(frozen: Curve) -> Iterator[Problem]:
    """Why a curve cannot be the frozen arm: it learns."""
    for point in frozen.points:
        if point.lr is not None and point.lr != 0:
            yield Problem(
                place=Place(file=frozen.name),
                rule="convergence-frozen",
                what=f"learning rate {point.lr:g} at step {point.step}: the frozen arm must not learn",
                mend="run the reference recipe with --set arguments.lr=0 --set arguments.min_lr=0",
            )
            return


def states_rates(candidate: Curve, reference: Curve) -> bool:
    """Whether both logs print a learning rate at some common step."""
    ours, theirs = candidate.by_step(), reference.by_step()
    return any(ours[step].lr is not None and theirs[step].lr is not None for step in ours.keys() & theirs.keys())


def _first_other_rate(candidate: Curve, reference: Curve) -> tuple[int, float, float] | None:
    ours, theirs = candidate.by_step(), reference.by_step()
    for step in sorted(ours.keys() & theirs.keys()):
        a, b = ours[step].lr, theirs[step].lr
        if a is not None and b is not None and not isclose(a, b, rel_tol=_LR_TOLERANCE):
            return step, a, b
    return None


def _length(arm: Curve) -> int:
    """Steps that the run was to take, by its own arguments, else those that its log has."""
    rollouts, rows, samples, batch, steps = (_number(arm, name) for name in _SIZES)
    if rollouts and rows and batch:
        return rollouts * rows * (samples or 1) // batch
    return steps or max(arm.steps, default=-1) + 1


def _number(arm: Curve, name: str) -> int:
    told = arm.arguments.get(name, "")
    return int(told) if told.isdecimal() and len(told) < 10 else 0


def _refusal(candidate: Curve, what: str, mend: str) -> Problem:
    return Problem(place=Place(file=candidate.name), rule="convergence-schedule", what=what, mend=mend)
