"""A recipe's correctness block with one part replaced, and what follows from all parts settled anew.

with_convergence(old, block)                      -> Correctness
with_configuration(old, "pass", evidence)         -> Correctness
with_component_test(old, entry)                   -> Correctness; in the place of an entry of the same component
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from openrecipes.recipe.correctness import ComponentTest, ConfigurationEvidence, Convergence, Correctness, Outcome
from openrecipes.recipe.write import plain
from openrecipes.verdict.convergence_rules import STRICT

_EMPTY: Final[Mapping[str, Any]] = {
    "result": None,
    "summary": None,
    "reference": None,
    "configuration": None,
    "component_tests": (),
    "convergence": None,
    "rules": None,
}


def with_convergence(old: Correctness | None, found: Convergence, reference: str) -> Correctness:
    """The block with this comparison of loss curves; `reference` is named where no other check named one."""
    parts = _parts(old)
    named = old is not None and old.configuration_evidence is not None
    return _settled(parts | {"convergence": plain(found)} | ({} if named else {"reference": reference}))


def with_configuration(old: Correctness | None, outcome: Outcome, evidence: ConfigurationEvidence) -> Correctness:
    """The block with this comparison of arguments, whose reference is the block's."""
    return _settled(
        _parts(old)
        | {
            "reference": evidence.reference,
            "configuration": outcome,
            "configuration_evidence": plain(evidence),
        }
    )


def with_component_test(old: Correctness | None, entry: ComponentTest) -> Correctness:
    """The block with this test; an entry of the same component, or of the same words, goes."""
    kept = [test for test in (old.component_tests if old else ()) if not _same(test, entry)]
    return _settled(_parts(old) | {"component_tests": tuple(plain(test) for test in (*kept, entry))})


def _same(one: ComponentTest, other: ComponentTest) -> bool:
    return one.component == other.component if one.component and other.component else one.test == other.test


def _parts(old: Correctness | None) -> dict[str, Any]:
    return plain(old) if old else dict(_EMPTY)


def _settled(parts: dict[str, Any]) -> Correctness:
    """The block with result, summary and rules made of its parts."""
    block = Correctness.model_validate(parts)
    outcomes = dict(_outcomes(block))
    failed = [name for name, outcome in outcomes.items() if outcome == "fail"]
    told = f"failed: {', '.join(failed)}" if failed else f"passed: {', '.join(outcomes)}"
    rules = "; ".join(_rules(block))
    return Correctness.model_validate(
        parts | {"result": "fail" if failed else "pass", "summary": told, "rules": rules or block.rules}
    )


def _outcomes(block: Correctness) -> Iterator[tuple[str, Outcome]]:
    if block.configuration is not None:
        yield "configuration", block.configuration
    if block.convergence is not None:
        yield f"convergence over {block.convergence.steps} steps", block.convergence.result
    for test in block.component_tests:
        yield f"component test {test.component or test.test}", test.result


def _rules(block: Correctness) -> Iterator[str]:
    if block.configuration_evidence is not None:
        yield f"argument classes {block.configuration_evidence.classes}"
    if block.convergence is not None and block.convergence.rule is not None:
        yield f"loss curves by {block.convergence.rule} and {STRICT.name}"
