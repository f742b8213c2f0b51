"""Two recipes compared argument by argument, fail-closed: is a difference in speed one of computing the same thing?

    configuration(side_of(recipe, name="a"), side_of(other, name="b"))   -> Configuration; .passed, .document()

A tolerated difference passes and asks for the convergence check; a forbidden one fails whatever the curves say; what is
in no table fails.
"""

from dataclasses import dataclass
from typing import Any

from openrecipes.correctness.argument_classes import ArgumentClasses, argument_classes
from openrecipes.correctness.effective_arguments import settings_sha256
from openrecipes.correctness.judgement import Item, judged_arguments, judged_environment, judged_workload
from openrecipes.correctness.relations import Relation, relations
from openrecipes.correctness.side import Side
from openrecipes.recipe.correctness import ConfigurationEvidence, Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    """The comparison: every value with its verdict, and every rule between values."""

    candidate: Side
    reference: Side
    table: str
    items: tuple[Item, ...]
    relations: tuple[Relation, ...]

    @property
    def passed(self) -> bool:
        """Whether every value and every rule passes."""
        return all(item.passed for item in self.items) and all(rule.passed for rule in self.relations)

    @property
    def result(self) -> Outcome:
        """The verdict as recipes write it."""
        return "pass" if self.passed else "fail"

    @property
    def not_compared(self) -> tuple[str, ...]:
        """What a log alone does not tell."""
        known = self.candidate.recipe is not None and self.reference.recipe is not None
        return () if known else ("environment", "rows", "row length", "starting weights")

    @property
    def tolerated(self) -> tuple[Item, ...]:
        """Differences that pass only because the convergence check is to show that they do no harm."""
        return tuple(item for item in self.items if item.judged == "tolerated")

    @property
    def components(self) -> tuple[str, ...]:
        """Component tests that the tolerated differences ask for, each once."""
        return tuple(dict.fromkeys(item.component for item in self.tolerated if item.component))

    @property
    def faults(self) -> tuple[str, ...]:
        """Everything that fails, one line each."""
        values = (
            f"{item.name}: {item.judged}, {item.candidate} against {item.reference}: {item.why}"
            for item in self.items
            if not item.passed
        )
        rules = (f"rule {rule.name}: {fault}" for rule in self.relations for fault in rule.faults)
        return (*values, *rules)

    def document(self) -> dict[str, Any]:
        """What `--json` prints."""
        counts: dict[str, int] = {}
        for item in self.items:
            counts[item.judged] = counts.get(item.judged, 0) + 1
        return {
            "result": self.result,
            "candidate": _side(self.candidate),
            "reference": _side(self.reference),
            "classes": self.table,
            "not_compared": list(self.not_compared),
            "counts": counts,
            "needs_convergence": bool(self.tolerated),
            "needs_components": list(self.components),
            "arguments": [item.document() for item in self.items],
            "rules": [rule.document() for rule in self.relations],
        }

    def evidence(self) -> ConfigurationEvidence:
        """What a recipe keeps of the comparison, so that it can be made again."""
        return ConfigurationEvidence(
            reference=_named(self.reference),
            reference_sha256=_sha256(self.reference),
            candidate_sha256=_sha256(self.candidate),
            classes=self.table,
            tolerated=tuple(item.name for item in self.tolerated),
            components=self.components,
        )


def configuration(candidate: Side, reference: Side, table: ArgumentClasses | None = None) -> Configuration:
    """The verdict on a candidate's configuration against a reference's, by the table of argument classes."""
    classes = table or argument_classes()
    return Configuration(
        candidate=candidate,
        reference=reference,
        table=classes.name,
        items=(
            *judged_workload(candidate, reference),
            *judged_arguments(candidate, reference, classes),
            *judged_environment(candidate, reference, classes),
        ),
        relations=relations(candidate, reference, classes),
    )


def _side(side: Side) -> dict[str, str]:
    return {"recipe": side.name, "arguments_from": side.effective.source, "sha256": _sha256(side)}


def _named(side: Side) -> str:
    source = side.effective.source
    return side.name if source == side.name else f"{side.name}, by the log {source}"


def _sha256(side: Side) -> str:
    return settings_sha256(side.effective, side.environment)
