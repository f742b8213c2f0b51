"""The loss curves behind a recipe's convergence check: their logs in a bundle, and its figures computed again.

curve_named(source)                               -> Curve of one run
claimed_logs(recipe)                              -> hash by role: candidate, reference, frozen
convergence_again(claim, logs)                    -> figures, and what is wrong or was not derived
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from openrecipes.correctness.convergence import convergence
from openrecipes.correctness.curve import Curve, points_of
from openrecipes.correctness.recomputed import convergence_again as compared_again
from openrecipes.evidence.figures import Figure
from openrecipes.problems import Problem
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.score.run_evidence import read_run
from openrecipes.verdict.convergence_rules import BRIDGE_RULES, PIPELINE

Role = Literal["candidate", "reference", "frozen"]

ROLES: Final[tuple[Role, ...]] = ("candidate", "reference", "frozen")
FOLDER: Final = "correctness"
_KEY: Final = "correctness.convergence"
# Held against the members' original bytes; what is computed from a redacted log is another hash.
_HASHES: Final = frozenset(f"{_KEY}.{role}_log_sha256" for role in ROLES)


def member_of(role: Role) -> str:
    """Name of a curve's log in the bundle."""
    return f"{FOLDER}/{role}.log"


def claimed_logs(recipe: Recipe) -> dict[Role, str]:
    """The hashes of the logs that the convergence check names."""
    found = recipe.correctness.convergence if recipe.correctness else None
    named = {role: getattr(found, f"{role}_log_sha256") for role in ROLES} if found else {}
    return {role: sha256 for role, sha256 in named.items() if sha256 is not None}


def convergence_again(
    claim: LocatedRecipe, logs: Mapping[Role, Path]
) -> tuple[tuple[Figure, ...], tuple[Problem, ...]]:
    """The figures of the convergence check, computed from the logs of every curve that it names.

    `logs` hold the curves by role. Where one is missing, nothing is derived, and a warning says so.
    """
    stored = claim.recipe.correctness.convergence if claim.recipe.correctness else None
    if stored is None:
        return (), ()
    missing = [role for role in ("candidate", "reference", *claimed_logs(claim.recipe)) if role not in logs]
    if missing:
        return (), (_not_derived(claim, missing),)
    arms: dict[Role, Curve] = {role: curve_named(str(path)) for role, path in logs.items()}
    rule = BRIDGE_RULES.get(stored.rule or "", PIPELINE)
    found = convergence(arms["candidate"], arms["reference"], frozen=arms.get("frozen"), rule=rule)
    figures = tuple(
        Figure(name=one.key, claimed=one.stored, derived=one.found, ok=one.same)
        for one in compared_again(stored, found)
        if one.key not in _HASHES
    )
    return figures, found.problems if found.is_refused else ()


def curve_named(source: str) -> Curve:
    """The curve of one run: of a log, a directory of one run's logs, a run directory.

    Raises: UsageError if there is no such log, or it cannot be read.
    """
    run = read_run(source)
    return Curve(
        name=source,
        points=points_of(run.steps, first_number=run.first_number, supervised=run.notes.supervised),
        arguments=run.arguments,
        log_sha256=run.log_sha256,
        problems=run.log_problems,
    )


def _not_derived(claim: LocatedRecipe, missing: Sequence[str]) -> Problem:
    return Problem(
        place=claim.place(_KEY),
        rule="convergence-not-derived",
        what=f"is not derived again: the bundle lacks the log of its {' and '.join(dict.fromkeys(missing))}",
        mend="bundle with --correctness-log LOG, once for each log that the check names",
        # Who claims `verified` claims that each check can be repeated.
        severity="error" if claim.recipe.status == "verified" else "warning",
    )
