"""A report as a recipe's `component_tests` entry, and as one JSON document."""

from math import isfinite
from typing import Any

from openrecipes import units
from openrecipes.correctness.component.frame import Judged, Report
from openrecipes.recipe.correctness import ComponentTest
from openrecipes.recipe.write import json_ready, plain


def entry(report: Report) -> ComponentTest:
    """The report in the form that recipes publish, with the names that repeat it; versions stand in `detail`."""
    on = "CPU" if report.circumstances.peak_memory_bytes is None else "GPU"
    return ComponentTest(
        test=f"{report.title} on {on} ({report.implementation}) against {report.reference}",
        shape=report.findings.shape,
        gpu=report.circumstances.gpu,
        date=report.circumstances.date,
        result="pass" if report.passed else "fail",
        detail="; ".join((*_figures(report), *_exact(report), *_controls(report), *_where(report))),
        component=report.component,
        tier=report.tier.value,
    )


def document(report: Report) -> dict[str, Any]:
    """The entry's keys, then everything behind them: every figure, control, version, and whether it is evidence."""
    spent = report.circumstances
    published: dict[str, Any] = json_ready(plain(entry(report)))
    return published | {
        "evidence": report.evidence,
        "why_evidence": report.why_evidence,
        "versions": spent.versions,
        "seconds": spent.seconds,
        "peak_memory_bytes": spent.peak_memory_bytes,
        "judged": [_judged(one) for one in report.findings.judged],
        "controls": [
            {"name": one.name, "spoilt": one.spoilt, "caught": one.caught, "caught_by": list(one.caught_by)}
            for one in report.findings.controls
        ],
    }


def _judged(one: Judged) -> dict[str, Any]:
    return {
        "tensor": one.tensor,
        "setting": one.setting,
        "check": one.check,
        "error": one.error if isfinite(one.error) else str(one.error),  # JSON has no word for nan and inf
        "bound": one.bound,
        "floor": one.floor,
        "elements": one.elements,
        "tensors": one.tensors,
        "passed": one.passed,
    }


def _figures(report: Report) -> tuple[str, ...]:
    """Each check that has a bound above 0: the worst of each setting, and what the worst of all was held against."""
    checks: dict[str, list[Judged]] = {}
    for one in report.findings.judged:
        if one.bound > 0:
            checks.setdefault(one.check, []).append(one)
    return tuple(_figure(check, judged) for check, judged in checks.items())


def _figure(check: str, judged: list[Judged]) -> str:
    worst: dict[str, Judged] = {}
    for one in judged:
        if one.setting not in worst or one.ratio > worst[one.setting].ratio:
            worst[one.setting] = one
    errors = ", ".join(f"{one.error:.2e}" + (f" after {setting}" if setting else "") for setting, one in worst.items())
    nearest = max(worst.values(), key=lambda one: one.ratio)
    floor = "" if nearest.floor is None else f", floor {nearest.floor:.2e}"
    beyond = "" if nearest.passed else ", beyond it"
    return f"{check}: error {errors} (worst in {nearest.tensor}: bound {nearest.bound:.2e}{floor}{beyond})"


def _exact(report: Report) -> tuple[str, ...]:
    """The checks that allow nothing: those that held in one phrase, each that did not by itself."""
    exact = [one for one in report.findings.judged if one.bound == 0]
    wrong = [one for one in exact if not one.passed]
    broken = {one.check for one in wrong}
    held = dict.fromkeys(one.check for one in exact if one.check not in broken)
    return (
        *((f"exact: {', '.join(held)}",) if held else ()),
        *(f"{one.check} wrong in {one.error:g} of {units.thousands(one.elements)} ({one.tensor})" for one in wrong),
    )


def _controls(report: Report) -> tuple[str, ...]:
    found = report.findings.controls
    uncaught = [one.name for one in report.uncaught]
    if uncaught:
        return (f"negative controls that nothing caught: {', '.join(uncaught)}",)
    return (f"all {len(found)} negative controls fail",)


def _where(report: Report) -> tuple[str, ...]:
    spent = report.circumstances
    versions = ", ".join(f"{name} {version}" for name, version in spent.versions.items())
    peak = "" if spent.peak_memory_bytes is None else f", peak memory {units.size(spent.peak_memory_bytes)}"
    return (
        f"tier {report.tier}{'' if report.evidence else ' (no evidence for a recipe)'}",
        versions,
        f"{units.seconds(spent.seconds)}{peak}",
    )
