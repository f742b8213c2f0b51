"""What a recipe's component tests lack to count as evidence."""

from collections.abc import Iterator
from typing import Final

from openrecipes.recipe.correctness import ComponentTest, Correctness

STACK_TIERS: Final = frozenset({"transformer-engine", "megatron-core", "flash-linear-attention"})
"""Tiers that run the training stack's own code; stand-ins show that a test works, not that the stack does."""


def component_gaps(evidence: Correctness) -> Iterator[str]:
    """Why the component tests do not count: none, one failed, none repeatable, or one that is asked for is missing."""
    tests = evidence.component_tests
    if not tests:
        yield "no component test"
        return
    failed = [test for test in tests if test.result != "pass"]
    for test in failed:
        yield f"the component test failed: {test.component or test.test}"
    counted = {test.component for test in tests if _counts(test)}
    if not counted and not failed:
        yield "no component test says which component and tier it ran, so none can be repeated"
    asked = evidence.configuration_evidence.components if evidence.configuration_evidence else ()
    for component in asked:
        if component not in counted:
            yield f"a tolerated difference asks for the component test {component}"


def _counts(test: ComponentTest) -> bool:
    return test.result == "pass" and test.component is not None and test.tier in STACK_TIERS
