"""A component test for people: plain lines of 80 columns, never cut."""

from typing import Final

from openrecipes import units
from openrecipes.cli.columns import columns
from openrecipes.correctness.component.frame import Control, Judged, Report

_NAMED_CHECKS: Final = 3  # of those that caught a control; --json has all


def component_page(report: Report) -> str:
    """Verdict, what was tested where, the worst of each check, every control."""
    spent = report.circumstances
    peak = "" if spent.peak_memory_bytes is None else f", peak memory {units.size(spent.peak_memory_bytes)}"
    return "\n".join(
        (
            f"{report.component}: {'pass' if report.passed else 'fail'}",
            *columns(
                (
                    ("tested", f"{report.implementation} (tier {report.tier})"),
                    ("against", report.reference),
                    ("shape", report.findings.shape),
                    ("on", f"{spent.gpu}, {spent.date}, {units.seconds(spent.seconds)}{peak}"),
                    ("versions", ", ".join(f"{name} {version}" for name, version in spent.versions.items())),
                    ("evidence", f"{'yes' if report.evidence else 'no'}: {report.why_evidence}"),
                )
            ),
            "",
            *_figures(report),
            "",
            *_controls(report),
        )
    )


def _figures(report: Report) -> tuple[str, ...]:
    several = len({(one.tensor, one.setting) for one in report.findings.judged}) > 1
    rows = [("check", "error", "bound", "floor", "elements", "", "worst in" if several else "")]
    for worst, elements in _worst_of_checks(report):
        exact = worst.bound == 0
        where = ", ".join(filter(None, (worst.tensor, worst.setting)))
        rows.append(
            (
                worst.check,
                f"{worst.error:g}" if exact else f"{worst.error:.2e}",
                "exact" if exact else f"{worst.bound:.2e}",
                "" if worst.floor is None else f"{worst.floor:.2e}",
                units.thousands(elements),
                "ok" if worst.passed else "BEYOND",
                where if several and not (exact and worst.passed) else "",
            )
        )
    return columns(rows, right=(1, 2, 3, 4))


def _worst_of_checks(report: Report) -> tuple[tuple[Judged, int], ...]:
    """The worst line of each check with the elements that it went over in all."""
    groups: dict[str, list[Judged]] = {}
    for one in report.findings.judged:
        groups.setdefault(one.check, []).append(one)
    return tuple(
        (max(group, key=lambda one: one.ratio), sum(one.elements for one in group)) for group in groups.values()
    )


def _controls(report: Report) -> tuple[str, ...]:
    rows = [("negative control", "what is spoilt", "caught by")]
    rows.extend((one.name, one.spoilt, _catchers(one)) for one in report.findings.controls)
    return columns(rows)


def _catchers(control: Control) -> str:
    named, more = control.caught_by[:_NAMED_CHECKS], len(control.caught_by) - _NAMED_CHECKS
    return ", ".join((*named, *((f"{more} more",) if more > 0 else ()))) or "NOTHING"
