"""The badge that a recipe's own evidence earns, whatever its status claims.

    verdict(recipe)   -> Verdict(badge="measured", why=("scored: ...", "not verified: no log hash ..."))

A pure function of the recipe: it reads no other file. `verified` needs a score and the three kinds of correctness
evidence, each with what it takes to compute it again; `measured` needs a score.
"""

from dataclasses import dataclass
from typing import Final, Literal

from openrecipes import units
from openrecipes.recipe.model import Recipe
from openrecipes.verdict.component_evidence import component_gaps
from openrecipes.verdict.configuration_evidence import configuration_gaps
from openrecipes.verdict.convergence_evidence import convergence_gaps

Badge = Literal["verified", "measured", "smoke", "draft"]

BADGES: Final[tuple[Badge, ...]] = ("draft", "smoke", "measured", "verified")
"""By rising worth."""
_SCORE: Final = ("tokens_per_s_per_gpu", "step_time_cv_percent", "measured", "window_tokens", "runs")


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The badge, and every reason for it and against the next better one, as short sentences without a full stop."""

    badge: Badge
    why: tuple[str, ...]

    @property
    def worth(self) -> int:
        """The badge's place among all, the better the higher."""
        return BADGES.index(self.badge)


def verdict(recipe: Recipe) -> Verdict:
    """What the recipe's evidence earns. A claim of smoke or draft is taken at its word."""
    if recipe.trainer == "smoke" or recipe.status == "smoke":
        who = "the smoke trainer" if recipe.trainer == "smoke" else "a run that its author calls smoke"
        return Verdict(badge="smoke", why=(f"{who} tests the harness, not a training stack",))
    if recipe.status == "draft":
        return Verdict(badge="draft", why=("the author claims no measurement",))
    absent = [name for name in _SCORE if getattr(recipe.result, name) is None]
    if absent:
        return Verdict(badge="draft", why=tuple(f"no score: result.{name} is null" for name in absent))
    gaps = verification_gaps(recipe)
    if gaps:
        return Verdict(badge="measured", why=(_scored(recipe), *(f"not verified: {gap}" for gap in gaps)))
    return Verdict(badge="verified", why=(_scored(recipe), *_proofs(recipe)))


def verification_gaps(recipe: Recipe) -> tuple[str, ...]:
    """Everything that keeps the recipe from being verified; empty where nothing does."""
    evidence = recipe.correctness
    score = () if recipe.result.log_sha256 else ("the score names no log (result.log_sha256)",)
    if evidence is None:
        return (*score, "no correctness evidence")
    overall = () if evidence.result == "pass" else (f"correctness.result is {evidence.result or 'null'}",)
    return (
        *score,
        *overall,
        *configuration_gaps(evidence),
        *convergence_gaps(evidence.convergence),
        *component_gaps(evidence),
    )


def _scored(recipe: Recipe) -> str:
    result = recipe.result
    runs = f"{result.runs} run{'' if result.runs == 1 else 's'}"
    log = "with the hash of its log" if result.log_sha256 else "without a log's hash"
    return f"scored: {result.tokens_per_s_per_gpu} tokens/s/GPU, {runs}, {log}"


def _proofs(recipe: Recipe) -> tuple[str, ...]:
    evidence = recipe.correctness
    assert evidence is not None, "a verified recipe has correctness evidence"
    against = evidence.configuration_evidence
    curves = evidence.convergence
    assert against is not None, "a verified recipe says what its configuration was compared with"
    assert curves is not None, "a verified recipe has a convergence check"
    tested = dict.fromkeys(test.component for test in evidence.component_tests if test.component)
    return (
        f"configuration passes against {against.reference} by {against.classes}",
        f"convergence passes {curves.rule} and its strict companion over {units.counted(curves.steps, 'step')}",
        f"component tests pass: {', '.join(tested)}",
    )
