"""What a recipe's configuration check lacks to count as evidence."""

from collections.abc import Iterator

from openrecipes.recipe.correctness import Correctness


def configuration_gaps(evidence: Correctness) -> Iterator[str]:
    """Why the configuration check does not count: not made, failed, or not to be made again."""
    if evidence.configuration is None:
        yield "no configuration check"
    elif evidence.configuration != "pass":
        yield "the configuration check failed"
    elif evidence.configuration_evidence is None:
        reference = (evidence.reference or "").rstrip(".")
        said = f", reference: {reference}" if reference else ""
        yield f"the configuration check does not say what was compared (correctness.configuration_evidence{said})"
