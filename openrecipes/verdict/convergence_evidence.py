"""What a recipe's convergence check lacks to count as evidence, its own figures held against its rule once more."""

from collections.abc import Iterator

from openrecipes.recipe.correctness import Convergence
from openrecipes.verdict.convergence_rules import BRIDGE_RULES, STRICT, BridgeRule


def convergence_gaps(found: Convergence | None) -> Iterator[str]:
    """Why the convergence check does not count: not made, failed, against its own rule, or not to be made again."""
    if found is None:
        yield "no convergence check"
        return
    if found.result != "pass":
        yield "the convergence check failed"
        return
    absent = [name for name in ("candidate_log_sha256", "reference_log_sha256") if getattr(found, name) is None]
    if absent:
        named = " and ".join(f"correctness.convergence.{name}" for name in absent)
        yield f"the convergence check does not name its logs ({named})"
    elif found.candidate_log_sha256 == found.reference_log_sha256:
        yield "the convergence check compares a log with itself"
    rule = BRIDGE_RULES.get(found.rule or "")
    if rule is None:
        said = f"{found.rule} is none of" if found.rule else "names no rule, which is one of"
        yield f"the convergence check {said} {', '.join(BRIDGE_RULES)}"
    elif found.strict != "pass":
        yield "the convergence check passes without its strict companion (correctness.convergence.strict)"
    else:
        yield from _contradictions(found, rule)


def _contradictions(found: Convergence, rule: BridgeRule) -> Iterator[str]:
    """Figures that the rule, or the strict companion, would not have passed."""
    least, most = max(rule.correlation, STRICT.correlation), min(rule.final_loss_tolerance, STRICT.final_loss)
    if found.correlation is None or found.correlation < least:
        yield f"correlation {found.correlation} is not the {least} that {STRICT.name} asks for"
    if found.final_loss_difference is None or found.final_loss_difference > most:
        yield f"final_loss_difference {found.final_loss_difference} is not within the {most} of {STRICT.name}"
    points = found.points_scored
    if points is None or points < STRICT.min_points:
        yield f"{points or 'an unknown number of'} points were scored, and {STRICT.min_points} are needed"
    elif found.pointwise_failures is None or found.pointwise_failures > rule.max_outlier_ratio * points:
        yield f"pointwise_failures {found.pointwise_failures} of {points} is more than {rule.name} allows"
