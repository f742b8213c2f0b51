"""Two results against each other: may they be compared, by how much they differ, and whether that exceeds the spread.

compare(base, candidate)     -> Comparison

The base is what the other is measured against: a ratio of 1.02 says that the candidate trains 1.02 times as many
tokens/s/GPU as the base.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from openrecipes.compare.causes import Difference, differences
from openrecipes.compare.rates import INTERVAL_METHOD, ratio_interval
from openrecipes.compare.side import Side
from openrecipes.figures.comparability import differing

Verdict = Literal["reproduced", "faster", "slower", "not comparable"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What became of two results. `ratio` and `interval` are the candidate's tokens/s/GPU over the base's, or None."""

    base: Side
    candidate: Side
    why_not: tuple[str, ...]
    ratio: float | None
    interval: tuple[float, float] | None
    verdict: Verdict
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]

    @property
    def comparable(self) -> bool:
        """Whether there is a verdict."""
        return not self.why_not

    @property
    def unseen(self) -> float | None:
        """The half width of the interval, a fraction of the ratio: a smaller difference could not have been seen."""
        if self.interval is None or self.ratio is None:
            return None
        return (self.interval[1] - self.interval[0]) / 2 / self.ratio

    @property
    def step_time_change(self) -> float | None:
        """How much longer the candidate's mean step takes, a fraction of the base's; above -1. None for other work."""
        one, other = self.base, self.candidate
        if self.ratio is None or one.recipe is None or other.recipe is None:
            return None
        if one.recipe.gpu.count != other.recipe.gpu.count:
            return None
        return 1 / self.ratio - 1

    def document(self) -> dict[str, Any]:
        """The comparison as `--json` prints it."""
        return {
            "comparable": self.comparable,
            "why_not": "; ".join(self.why_not) or None,
            "base": _side(self.base),
            "candidate": _side(self.candidate),
            "ratio": self.ratio,
            "interval": list(self.interval) if self.interval else None,
            "interval_method": INTERVAL_METHOD,
            "unseen": self.unseen,
            "step_time_change": self.step_time_change,
            "verdict": self.verdict,
            "differences": [difference.document() for difference in self.differences],
            "notes": list(self.notes),
        }


def compare(base: Side, candidate: Side) -> Comparison:
    """The candidate against the base."""
    why_not = tuple(_why_not(base, candidate))
    ratio, interval = None, None
    if not why_not and base.rate is not None and candidate.rate is not None:
        ratio = candidate.rate.tokens_per_s_per_gpu / base.rate.tokens_per_s_per_gpu
        interval = ratio_interval(base.rate, candidate.rate)
        if interval is None:
            unknown = [side.name for side in (base, candidate) if side.rate and side.rate.relative_error is None]
            why_not = (f"nothing tells the spread of {' and '.join(unknown)}",)
    return Comparison(
        base=base,
        candidate=candidate,
        why_not=why_not,
        ratio=ratio,
        interval=interval,
        verdict=_verdict(interval),
        differences=differences(base, candidate),
        notes=tuple(dict.fromkeys(_notes(base, candidate))),
    )


def _why_not(base: Side, candidate: Side) -> Iterator[str]:
    for side in (base, candidate):
        if side.no_rate is not None:
            yield side.no_rate
    if base.key is not None and candidate.key is not None:
        yield from (str(found) for found in differing(base.key, candidate.key))


def _verdict(interval: tuple[float, float] | None) -> Verdict:
    if interval is None:
        return "not comparable"
    if interval[0] > 1:
        return "faster"
    return "slower" if interval[1] < 1 else "reproduced"


def _notes(base: Side, candidate: Side) -> Iterator[str]:
    yield from base.notes
    yield from candidate.notes
    if base.log_sha256 is not None and base.log_sha256 == candidate.log_sha256:
        yield "both figures stand on the same log: nothing was measured again"
    for side in (base, candidate):
        if side.kind == "run" and not side.stack_is_captured:
            yield f"{side.name} holds no captured environment: of its stack only what its log prints is known"


def _side(side: Side) -> dict[str, Any]:
    rate = side.rate
    return {
        "name": side.name,
        "kind": side.kind,
        "tokens_per_s_per_gpu": rate.tokens_per_s_per_gpu if rate else None,
        "relative_error": rate.relative_error if rate else None,
        "basis": rate.basis if rate else None,
        "step_time_s": side.step_time_s,
        "log_sha256": side.log_sha256,
    }
