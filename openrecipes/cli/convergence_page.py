"""The comparison of two loss curves for people: verdict, both threshold sets, every strict check, the curves."""

from collections.abc import Iterator
from math import isfinite

from openrecipes import units
from openrecipes.cli.columns import columns, explained
from openrecipes.cli.curve_picture import curve_picture
from openrecipes.correctness.convergence import Convergence
from openrecipes.correctness.convergence_bridge import BridgeVerdict
from openrecipes.verdict.convergence_rules import STRICT


def convergence_page(found: Convergence) -> str:
    """Plain lines of 80 columns, never cut."""
    head = (
        f"convergence: {found.result}",
        *columns(
            [
                ("candidate", _arm(found.candidate.name, found.candidate.log_sha256)),
                ("reference", _arm(found.reference.name, found.reference.log_sha256)),
                *([("frozen arm", _arm(found.frozen.name, found.frozen.log_sha256))] if found.frozen else []),
                *([("noise from", _arm(found.repeat.name, found.repeat.log_sha256))] if found.repeat else []),
            ]
        ),
    )
    if found.is_refused:
        return "\n".join((*head, "", "not compared: see the problems"))
    return "\n".join((*head, "", *_rules(found), "", *_strict(found), "", curve_picture(found)))


def _arm(name: str, sha256: str | None) -> str:
    return f"{name}  (sha256 {sha256[:12]})" if sha256 else name


def _rules(found: Convergence) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [
        ("Megatron-Bridge's check", "points", "correlation", "final loss", "pointwise", "outliers")
    ]
    rows.extend(map(_rule, found.bridge))
    verdicts = ("ok" if each.passed else f"FAILS {', '.join(each.failed)}" for each in found.bridge)
    decides = (" (decides)" if each.rule == found.rule else "" for each in found.bridge)
    yield from explained(rows, map("".join, zip(verdicts, decides, strict=True)), right=(1, 2, 3, 4, 5))


def _rule(each: BridgeVerdict) -> tuple[str, ...]:
    return (
        each.rule.name,
        str(each.points_scored),
        _correlation(each.correlation),
        f"{each.final_loss_difference:.1e}" if isfinite(each.final_loss_difference) else "none",
        str(each.pointwise_failures),
        str(each.outliers),
    )


def _strict(found: Convergence) -> Iterator[str]:
    noise = "noise" if found.repeat else ""
    rows = [(f"strict companion ({STRICT.name})", "", "figure", "bound", noise)]
    for check in found.strict:
        word = {"pass": "ok", "fail": "FAILS", "not compared": "not compared"}[check.result]
        form = _correlation if check.name == "correlation" else _figure
        heard = form(check.noise) if found.repeat and check.noise is not None else ""
        rows.append((check.name, word, form(check.value), _figure(check.bound), heard))
    shown = rows if found.repeat else [row[:4] for row in rows]
    yield from explained(shown, (check.why for check in found.strict), right=(2, 3, 4) if found.repeat else (2, 3))


def _correlation(value: float | None) -> str:
    return f"{units.correlation(value):.6g}" if value is not None and isfinite(value) else "none"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
