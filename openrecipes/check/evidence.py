"""Rules over the claim: what the status says against the figures and the correctness evidence."""

from collections.abc import Iterator

from openrecipes.check.rule import Finding, Section, rule
from openrecipes.check.subject import Subject
from openrecipes.verdict.badge import BADGES, verdict

_FIGURES = ("tokens_per_s_per_gpu", "usd_per_million_tokens", "step_time_cv_percent", "mfu", "gpu_hours", "measured")
_NEEDED = ("tokens_per_s_per_gpu", "step_time_cv_percent", "measured", "window_tokens", "runs")
_MEASURED = ("verified", "measured")


@rule("status-measured", Section.EVIDENCE, "a measured recipe has its figures.")
def measured(subject: Subject) -> Iterator[Finding]:
    """A claim without a figure."""
    status, result = subject.recipe.status, subject.recipe.result
    for name in _NEEDED if status in _MEASURED else ():
        if getattr(result, name, ...) is None:  # one that could not be read hides no other
            yield Finding(
                key=f"result.{name}",
                what=f"null, but status is {status}",
                mend="write what was measured, or set status to draft",
            )


@rule("status-draft", Section.EVIDENCE, "a draft has no figures.")
def draft(subject: Subject) -> Iterator[Finding]:
    """Figures that nobody claims to have measured."""
    for name in _FIGURES if subject.recipe.status == "draft" else ():
        if getattr(subject.recipe.result, name, None) is not None:
            yield Finding(
                key=f"result.{name}",
                what=f"{subject.written(f'result.{name}')}, but status is draft",
                mend=f"set result.{name} to null, or status to measured",
            )


@rule("status-smoke", Section.EVIDENCE, "a result of the smoke trainer claims status smoke.")
def smoke(subject: Subject) -> Iterator[Finding]:
    """A test of the harness that would be ranked."""
    if subject.recipe.trainer == "smoke" and subject.recipe.status in _MEASURED:
        yield Finding(
            key="status",
            what=f"{subject.recipe.status}, but the trainer is smoke, which only tests the harness",
            mend="set status to smoke",
        )


@rule("status-verified", Section.EVIDENCE, "verified needs a passed configuration, convergence and component test.")
def verified(subject: Subject) -> Iterator[Finding]:
    """A claim beyond its evidence."""
    if subject.recipe.status != "verified":
        return
    evidence = subject.recipe.correctness
    if evidence is None:
        missing = ["no correctness evidence"]
    else:
        parts = {"configuration": evidence.configuration, "convergence": evidence.convergence}
        missing = [f"no {name}" for name, part in parts.items() if part is None]
        missing += [] if evidence.component_tests else ["no component test"]
        missing += [] if evidence.result == "pass" else [f"the result {evidence.result or 'null'}"]
    if missing:
        yield Finding(
            key="status",
            what=f"verified, but correctness has {', '.join(missing)}",
            mend="add the evidence, or set status to measured",
        )


@rule("evidence-result", Section.EVIDENCE, "correctness.result is pass only where no part failed, and fail only so.")
def evidence_result(subject: Subject) -> Iterator[Finding]:
    """A verdict that its parts contradict."""
    evidence = subject.recipe.correctness
    if evidence is None or evidence.result is None:
        return
    outcomes = {"configuration": evidence.configuration}
    if evidence.convergence is not None:
        outcomes["convergence"] = evidence.convergence.result
    outcomes |= {f"component_tests[{i}]": test.result for i, test in enumerate(evidence.component_tests)}
    failed = [name for name, outcome in outcomes.items() if outcome == "fail"]
    if evidence.result == "pass" and failed:
        yield Finding(
            key="correctness.result",
            what=f"pass, but {' and '.join(failed)} failed",
            mend="set correctness.result to fail",
        )
    elif evidence.result == "fail" and not failed:
        yield Finding(key="correctness.result", what="fail, but no part failed", mend="write down the part that failed")


@rule("evidence-convergence", Section.EVIDENCE, "no more pointwise failures than steps compared.")
def convergence(subject: Subject) -> Iterator[Finding]:
    """More failures than there are points."""
    found = subject.recipe.correctness.convergence if subject.recipe.correctness else None
    if found is not None and found.pointwise_failures is not None and found.pointwise_failures > found.steps:
        yield Finding(
            key="correctness.convergence.pointwise_failures",
            what=f"{found.pointwise_failures}, but only {found.steps} steps were compared",
            mend="write the number of steps that failed",
        )


@rule("status-worth", Section.EVIDENCE, "status claims no more than the evidence earns by computation.", "warning")
def worth(subject: Subject) -> Iterator[Finding]:
    """A claim that the evidence here does not prove, though no part of it is missing or wrong."""
    recipe = subject.recipe
    if any(any(other.problems(subject)) for other in (measured, smoke, verified, evidence_result, convergence)):
        return
    found = verdict(recipe)
    if BADGES.index(recipe.status) > found.worth:
        short = [reason.removeprefix("not verified: ") for reason in found.why if not reason.startswith("scored: ")]
        yield Finding(
            key="status",
            what=f"{recipe.status}, but the evidence earns {found.badge}: {short[0]}{_more(len(short) - 1)}",
            mend=f"`openrecipes show` lists all reasons; add the evidence, or set status to {found.badge}",
        )


def _more(count: int) -> str:
    return f", and {count} more" if count else ""
