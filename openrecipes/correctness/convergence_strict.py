"""The strict companion of Megatron-Bridge's check: what closes its holes, each check on its own."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot, inf, isclose, isfinite, isnan
from typing import Any, Literal

import numpy as np

from openrecipes.correctness.curve import Curve, Point
from openrecipes.verdict.convergence_rules import StrictRule

Standing = Literal["pass", "fail", "not compared"]


@dataclass(frozen=True, kw_only=True, slots=True)
class StrictCheck:
    """One check: what it found in words, and the figure with its bound where there is one.

    `noise` is the figure that a repetition of the reference has against it.
    """

    name: str
    result: Standing
    why: str
    value: float | None = None
    bound: float | None = None
    noise: float | None = None

    def document(self) -> dict[str, Any]:
        """The check as `--json` prints it."""
        return {
            "check": self.name,
            "result": self.result,
            "value": self.value,
            "bound": self.bound,
            "noise": self.noise,
            "why": self.why,
        }


def strict_checks(
    candidate: Curve, reference: Curve, frozen: Curve | None, *, scored_from: int, rule: StrictRule
) -> tuple[StrictCheck, ...]:
    """Every check over two curves and, where given, a frozen arm. `scored_from` is the first step that the rule scores.

    A check that the data forbid says so and fails; one whose data neither log holds is not compared.
    """
    arms = [candidate, reference, *([frozen] if frozen else [])]
    pairs = _pairs(candidate, reference)
    return (
        _complete(arms),
        _same_steps(candidate, reference),
        _finite(arms),
        _points([step for step in reference.steps if step >= scored_from], rule),
        _variance(candidate, reference),
        _target_tokens(pairs),
        _first_losses(pairs, rule),
        _grad_norms(pairs, rule),
        _final_loss(candidate, reference, rule),
        _correlation(pairs, rule),
        _learning_signal(candidate, reference, frozen, scored_from, rule),
    )


_Pairs = Sequence[tuple[int, Point, Point]]


def _pairs(candidate: Curve, reference: Curve) -> _Pairs:
    ours, theirs = candidate.by_step(), reference.by_step()
    return [(step, ours[step], theirs[step]) for step in reference.steps if step in ours]


def _complete(arms: Sequence[Curve]) -> StrictCheck:
    faults = []
    for arm in arms:
        if arm.missing:
            faults.append(f"{arm.name} lacks step {_some(arm.missing)}")
        if arm.repeated:
            faults.append(f"{arm.name} has step {_some(arm.repeated)} more than once")
        without = [point.step for point in arm.points if point.loss is None]
        if without:
            faults.append(f"{arm.name} has no loss at step {_some(without)}")
    return _judged("complete", "; ".join(faults) or "each step from 0 on stands once, with a loss", passed=not faults)


def _same_steps(candidate: Curve, reference: Curve) -> StrictCheck:
    ours, theirs = candidate.steps, reference.steps
    if ours == theirs:
        return _judged("same-steps", f"both have {len(theirs)} steps", passed=True)
    only = [f"{arm.name} alone has step {_some(extra)}" for arm, extra in _alone(candidate, reference) if extra]
    return _judged("same-steps", "; ".join(only), passed=False)


def _alone(candidate: Curve, reference: Curve) -> tuple[tuple[Curve, list[int]], ...]:
    ours, theirs = set(candidate.steps), set(reference.steps)
    return (candidate, sorted(ours - theirs)), (reference, sorted(theirs - ours))


def _finite(arms: Sequence[Curve]) -> StrictCheck:
    bad = [
        f"{arm.name} has {name} {value} at step {point.step}"
        for arm in arms
        for point in arm.points
        for name, value in (("loss", point.loss), ("gradient norm", point.grad_norm))
        if value is not None and not isfinite(value)
    ]
    more = f", and {len(bad) - 1} more" if bad[1:] else ""
    return _judged(
        "finite", bad[0] + more if bad else "every loss and gradient norm is a finite number", passed=not bad
    )


def _points(scored: Sequence[int], rule: StrictRule) -> StrictCheck:
    count = len(scored)
    why = f"{count} points are scored; fewer than {rule.min_points} say little"
    return _judged("points", why, passed=count >= rule.min_points, value=count, bound=rule.min_points)


def _variance(candidate: Curve, reference: Curve) -> StrictCheck:
    flat = [arm.name for arm in (candidate, reference) if len(set(_losses(arm).values())) < 2]
    why = f"the loss of {' and of '.join(flat)} never changes" if flat else "both losses change from step to step"
    return _judged("variance", why, passed=not flat)


def _target_tokens(pairs: _Pairs) -> StrictCheck:
    stated = [(step, ours.target_tokens, theirs.target_tokens) for step, ours, theirs in pairs]
    if not any(ours is not None or theirs is not None for _, ours, theirs in stated):
        return StrictCheck(name="target-tokens", result="not compared", why="neither log states target tokens")
    other = [(step, ours, theirs) for step, ours, theirs in stated if not _same_count(ours, theirs)]
    if not other:
        total = sum(tokens or 0 for _, tokens, _ in stated)
        return _judged("target-tokens", f"equal at each step, {total:,.0f} in all", passed=True)
    step, ours, theirs = other[0]
    said = " against ".join("none stated" if value is None else f"{value:,.0f}" for value in (ours, theirs))
    why = f"step {step}: {said} target tokens, so the rows or the mask differ ({len(other)} of {len(stated)} steps)"
    return _judged("target-tokens", why, passed=False)


def _same_count(ours: float | None, theirs: float | None) -> bool:
    """Equal, but for the rounding of a mean times rows."""
    return ours is not None and theirs is not None and isclose(ours, theirs, rel_tol=1e-9)


def _first_losses(pairs: _Pairs, rule: StrictRule) -> StrictCheck:
    first = [(step, ours, theirs) for step, ours, theirs in pairs if step in (0, 1)]
    values = [_relative(ours.loss, theirs.loss) for _, ours, theirs in first]
    if len(values) < 2 or any(value is None for value in values):
        why = "the losses at steps 0 and 1 are not all there"
        return _judged("first-losses", why, passed=False, bound=rule.first_losses)
    worst = _worst(value for value in values if value is not None)
    why = "steps 0 and 1 start from identical weights: a difference is one of the forward pass"
    return _judged("first-losses", why, passed=worst <= rule.first_losses, value=worst, bound=rule.first_losses)


def _grad_norms(pairs: _Pairs, rule: StrictRule) -> StrictCheck:
    both = [(step, ours.grad_norm, theirs.grad_norm) for step, ours, theirs in pairs]
    if all(ours is None and theirs is None for _, ours, theirs in both):
        return StrictCheck(name="grad-norms", result="not compared", why="neither log prints gradient norms")
    one_sided = [step for step, ours, theirs in both if (ours is None) != (theirs is None)]
    if one_sided:
        return _judged("grad-norms", f"only one log has a gradient norm at step {_some(one_sided)}", passed=False)
    found = [(step, a, b) for step, a, b in both if a is not None and b is not None]
    beyond = [entry for entry in found if not _near(entry[1], entry[2], rule)]
    worst = _worst(abs(a - b) / abs(b) if b else abs(a) for _, a, b in found)
    why = f"within {rule.grad_norm_relative:.0%} or {rule.grad_norm_absolute} at each step"
    if beyond:
        step, ours, theirs = beyond[0]
        why = f"{ours:g} against {theirs:g} at step {step}, and {len(beyond)} of {len(found)} steps are beyond"
    return _judged("grad-norms", why, passed=not beyond, value=worst, bound=rule.grad_norm_relative)


def _near(ours: float, theirs: float, rule: StrictRule) -> bool:
    return abs(ours - theirs) <= max(rule.grad_norm_absolute, rule.grad_norm_relative * abs(theirs))


def _final_loss(candidate: Curve, reference: Curve, rule: StrictRule) -> StrictCheck:
    last = max(reference.steps, default=0)
    ours, theirs = candidate.by_step().get(last), reference.by_step().get(last)
    value = _relative(ours.loss if ours else None, theirs.loss if theirs else None)
    why = f"relative difference at the last step, {last}" if value is not None else f"step {last} has no two losses"
    return _judged(
        "final-loss", why, passed=value is not None and value <= rule.final_loss, value=value, bound=rule.final_loss
    )


def _correlation(pairs: _Pairs, rule: StrictRule) -> StrictCheck:
    both = [(a.loss, b.loss) for _, a, b in pairs if a.loss is not None and b.loss is not None]
    if len(both) < 2:
        return _judged("correlation", "there are no two steps with two losses", passed=False, bound=rule.correlation)
    with np.errstate(all="ignore"):
        value = float(np.corrcoef(*np.asarray(both, dtype=np.float64).T)[0, 1])
    passed = value >= rule.correlation  # a NaN is no pass
    return _judged("correlation", "Pearson's, over every step", passed=passed, value=value, bound=rule.correlation)


def _learning_signal(
    candidate: Curve, reference: Curve, frozen: Curve | None, scored_from: int, rule: StrictRule
) -> StrictCheck:
    if frozen is None:
        why = "no frozen arm was given (--frozen: the reference recipe at learning rate 0)"
        return StrictCheck(name="learning-signal", result="not compared", why=why, bound=rule.learning_signal)
    ours, theirs, still = (_losses(arm) for arm in (candidate, reference, frozen))
    steps = [step for step in theirs if step >= scored_from]
    lost = [step for step in steps if step not in ours or step not in still]
    if lost or not steps:
        why = f"step {_some(lost)} is not in all three logs" if lost else "no step is scored"
        return _judged("learning-signal", why, passed=False, bound=rule.learning_signal)
    away = hypot(*(ours[step] - theirs[step] for step in steps))
    learnt = hypot(*(still[step] - theirs[step] for step in steps))
    if not learnt > 0:
        why = "the frozen arm has the reference's losses: the reference learnt nothing, or the logs are the same"
        return _judged("learning-signal", why, passed=False, bound=rule.learning_signal)
    why = f"norm {away:.3g} from the reference, where the frozen arm is {learnt:.3g} from it"
    return _judged(
        "learning-signal",
        why,
        passed=away / learnt <= rule.learning_signal,
        value=away / learnt,
        bound=rule.learning_signal,
    )


def _losses(arm: Curve) -> Mapping[int, float]:
    """Losses by rising step; of a repeated step the last."""
    points = arm.by_step()
    return {step: loss for step in arm.steps if (loss := points[step].loss) is not None}


def _relative(ours: float | None, theirs: float | None) -> float | None:
    if ours is None or theirs is None:
        return None
    return abs(ours - theirs) / abs(theirs) if theirs else abs(ours)


def _judged(
    name: str, why: str, *, passed: bool, value: float | None = None, bound: float | None = None
) -> StrictCheck:
    return StrictCheck(name=name, result="pass" if passed else "fail", why=why, value=value, bound=bound)


def _worst(values: Iterable[float]) -> float:
    """The largest, a NaN above all: no bound holds it."""
    return max(values, key=lambda value: inf if isnan(value) else value)


def _some(steps: Sequence[int]) -> str:
    """The first few of many step numbers."""
    shown = ", ".join(map(str, steps[:5]))
    return f"{shown} and {len(steps) - 5} more" if len(steps) > 5 else shown
