"""Two loss curves compared: Megatron-Bridge's published check, and the strict companion that closes its holes.

    convergence(candidate, reference)                    -> Convergence; .passed, .document(), .block()
    convergence(candidate, reference, frozen=arm, repeat=reference_again, rule=FUNCTION)

Passes only where the named rule and every strict check that the logs allow pass. Fail-closed: curves that cannot be
compared are a refusal, and a refusal is a fail.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import Any, Final

from openrecipes import units
from openrecipes.correctness.convergence_bridge import BridgeVerdict, bridge_verdict
from openrecipes.correctness.convergence_strict import StrictCheck, strict_checks
from openrecipes.correctness.curve import Curve
from openrecipes.correctness.schedule import frozen_refusals, schedule_refusals
from openrecipes.problems import Place, Problem, errors_in, in_order
from openrecipes.recipe.correctness import Convergence as ConvergenceBlock
from openrecipes.recipe.correctness import Outcome
from openrecipes.verdict.convergence_rules import BRIDGE_RULES, PIPELINE, STRICT, BridgeRule

_LARGEST: Final = 1e18
"""Above it, a recipe holds no figure: the curves have nothing to do with each other."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Convergence:
    """The comparison of two curves; `repeat` is the reference run again, whose distance from it is noise.

    `bridge` holds Megatron-Bridge's check under each of its threshold sets.

    Both `bridge` and `strict` are empty where the comparison was refused.
    """

    candidate: Curve
    reference: Curve
    frozen: Curve | None
    repeat: Curve | None
    rule: BridgeRule
    bridge: tuple[BridgeVerdict, ...]
    strict: tuple[StrictCheck, ...]
    problems: tuple[Problem, ...]

    @property
    def is_refused(self) -> bool:
        """Whether the curves must not be compared at all."""
        return bool(errors_in(self.problems))

    @property
    def chosen(self) -> BridgeVerdict | None:
        """The check under the rule that decides; None where the comparison was refused."""
        return next((found for found in self.bridge if found.rule == self.rule), None)

    @property
    def strict_result(self) -> Outcome:
        """Fail where any strict check failed, or none was made."""
        return "pass" if self.strict and all(check.result != "fail" for check in self.strict) else "fail"

    @property
    def result(self) -> Outcome:
        """Pass only where the rule and its companion pass."""
        return "pass" if self.chosen and self.chosen.passed and self.strict_result == "pass" else "fail"

    @property
    def passed(self) -> bool:
        """Whether the result is a pass."""
        return self.result == "pass"

    @property
    def not_compared(self) -> tuple[str, ...]:
        """Strict checks whose data neither log holds; the learning signal needs an arm of its own and is not meant."""
        return tuple(c.name for c in self.strict if c.result == "not compared" and c.name != "learning-signal")

    def check(self, name: str) -> StrictCheck | None:
        """A strict check by its name."""
        return next((check for check in self.strict if check.name == name), None)

    def document(self) -> dict[str, Any]:
        """What `--json` prints: the keys of a recipe's `correctness.convergence` in full digits, then all behind it."""
        return {
            **self._figures(),
            "refused": self.is_refused,
            "rules": [found.document() for found in self.bridge],
            "strict_rule": STRICT.name,
            "strict_checks": [check.document() for check in self.strict],
            "not_compared": list(self.not_compared),
            "curves": {
                "steps": list(self.reference.steps),
                "candidate": _losses(self.candidate, self.reference.steps),
                "reference": _losses(self.reference, self.reference.steps),
            },
            "problems": [problem.document() for problem in self.problems],
        }

    def block(self) -> ConvergenceBlock:
        """The comparison as a recipe holds it: figures rounded as published.

        `strict` is left out where something was not compared: a companion with holes proves nothing.
        Raises: ValueError if there is not a single step.
        """
        figures = self._figures()
        for key, published in (
            ("correlation", units.correlation),
            ("final_loss_difference", units.loss_difference),
            ("first_loss_difference", units.loss_difference),
            ("learning_signal", units.loss_difference),
        ):
            value = figures[key]
            if key != "correlation" and value is not None:
                value = abs(value) if abs(value) <= _LARGEST else None  # a negative reference gives a negative share
            figures[key] = None if value is None else published(value)
        if self.not_compared:
            figures["strict"] = None
        optional = {name for name, field in ConvergenceBlock.model_fields.items() if not field.is_required()}
        held = {key: value for key, value in figures.items() if value is not None or key not in optional}
        return ConvergenceBlock.model_validate(held)

    def _figures(self) -> dict[str, Any]:
        found, first, signal = self.chosen, self.check("first-losses"), self.check("learning-signal")
        return {
            "steps": len(self.reference.steps),
            "result": self.result,
            "correlation": _finite(found.correlation if found else None),
            "final_loss_difference": _finite(found.final_loss_difference if found else None),
            "pointwise_failures": found.pointwise_failures if found else None,
            "note": self._note(),
            "rule": self.rule.name,
            "points_scored": found.points_scored if found else None,
            "outliers": found.outliers if found else None,
            "strict": self.strict_result if self.strict else None,
            "first_loss_difference": _finite(first.value if first else None),
            "learning_signal": _finite(signal.value if signal else None),
            "candidate_log_sha256": self.candidate.log_sha256,
            "reference_log_sha256": self.reference.log_sha256,
            "frozen_log_sha256": self.frozen.log_sha256 if self.frozen else None,
        }

    def _note(self) -> str:
        arms = f"candidate: {self.candidate.name}; reference: {self.reference.name}"
        arms += f"; frozen arm: {self.frozen.name}" if self.frozen else ""
        return arms + (f"; reference again: {self.repeat.name}" if self.repeat else "")


def convergence(
    candidate: Curve,
    reference: Curve,
    *,
    frozen: Curve | None = None,
    repeat: Curve | None = None,
    rule: BridgeRule = PIPELINE,
) -> Convergence:
    """The verdict on a candidate's curve against a reference's; every refusal is a problem in it, none is raised."""
    problems = in_order(_problems(candidate, reference, frozen, repeat))
    refused = bool(errors_in(problems))
    return Convergence(
        candidate=candidate,
        reference=reference,
        frozen=frozen,
        repeat=repeat,
        rule=rule,
        bridge=() if refused else tuple(_bridge(candidate, reference, each) for each in BRIDGE_RULES.values()),
        strict=() if refused else tuple(_strict(candidate, reference, frozen, repeat, rule)),
        problems=problems,
    )


def _bridge(candidate: Curve, reference: Curve, rule: BridgeRule) -> BridgeVerdict:
    """As its caller does it: by the reference's steps, one that the candidate lacks becoming NaN."""
    return bridge_verdict(_numbers(candidate, reference.steps), _numbers(reference, reference.steps), rule)


def _strict(
    candidate: Curve, reference: Curve, frozen: Curve | None, repeat: Curve | None, rule: BridgeRule
) -> Iterator[StrictCheck]:
    scored_from = reference.steps[int(len(reference.steps) * rule.skip_first)]
    noise: dict[str, float | None] = {}
    if repeat is not None:
        again = strict_checks(repeat, reference, frozen, scored_from=scored_from, rule=STRICT)
        noise = {check.name: check.value for check in again if check.name != "points"}
    for check in strict_checks(candidate, reference, frozen, scored_from=scored_from, rule=STRICT):
        yield replace(check, noise=noise.get(check.name))


def _problems(candidate: Curve, reference: Curve, frozen: Curve | None, repeat: Curve | None) -> Iterator[Problem]:
    arms = [arm for arm in (candidate, reference, frozen, repeat) if arm is not None]
    for arm in arms:
        # What is wrong with the steps, the strict checks judge; here it only explains them.
        yield from (replace(problem, severity="warning") for problem in arm.problems)
        if not _has_losses(arm):
            yield Problem(
                place=Place(file=arm.name),
                rule="convergence-no-losses",
                what=f"no loss at any of {len(arm.steps)} steps",
                mend="name the log of a run that prints a loss at each step; `openrecipes steps` shows what is read",
            )
    if not all(_has_losses(arm) for arm in arms):
        return
    if candidate.log_sha256 and candidate.log_sha256 == reference.log_sha256:
        yield Problem(
            place=Place(file=candidate.name),
            rule="convergence-same-log",
            severity="warning",
            what=f"this is the log of the reference, {reference.name}, so that nothing is compared",
            mend="name the log of another run",
        )
    yield from schedule_refusals(candidate, reference)
    if repeat is not None:
        yield from schedule_refusals(repeat, reference)
    if frozen is not None:
        yield from frozen_refusals(frozen)


def _has_losses(curve: Curve) -> bool:
    return any(point.loss is not None for point in curve.points)


def _numbers(curve: Curve, steps: tuple[int, ...]) -> list[float]:
    return [nan if value is None else value for value in _losses(curve, steps)]


def _losses(curve: Curve, steps: tuple[int, ...]) -> list[float | None]:
    points = curve.by_step()
    return [points[step].loss if step in points else None for step in steps]


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
