"""The first cause among all findings: earliest over all files and ranks, causes before what they bring about."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import inf
from typing import Final

from openrecipes.diagnosis.findings import Finding
from openrecipes.diagnosis.signatures import Kind
from openrecipes.logs.step import StepRecord

_WEIGHT: Final = {Kind.CAUSE: 0, Kind.EXCEPTION: 1, Kind.SYMPTOM: 2, Kind.STOP: 3, Kind.ECHO: 4, Kind.END: 5}
_HINT_REACH: Final = 500
_SURVIVED_STEPS: Final = 2
_GROUP: Final = re.compile(r"\[PG (?:ID )?(\d{1,6})")
_COLLECTIVE: Final = re.compile(r"(?:SeqNum=|at work: |sequence number:? )(\d{1,18})")


def fatal(findings: Sequence[Finding], steps: Sequence[StepRecord]) -> tuple[Finding, ...]:
    """Findings that may have ended the run: none that it went on after, none that its being stopped brought about."""
    possible = [f for f in findings if f.kind in _WEIGHT or f.kind is Kind.OUTSIDE]
    possible = [f for f in possible if not _is_survived(f, steps)]
    stop = _earliest([f for f in possible if f.kind is Kind.STOP])
    outside = _earliest([f for f in possible if f.kind is Kind.OUTSIDE])
    if stop is not None:
        possible = [f for f in possible if f is stop or not _is_after(f, stop)]
    if outside is not None:
        possible = [f for f in possible if f.kind in (Kind.CAUSE, Kind.STOP) or not _is_after(f, outside)]
    return tuple(f for f in possible if f.kind is not Kind.OUTSIDE)


def first_cause(possible: Sequence[Finding]) -> Finding | None:
    """The finding that explains the end, or None where there is none.

    A cause that names its own reason goes before an exception, that before a process which ended without one,
    and so on; among equals the earliest. An exception after a process had ended is that end's echo.
    """
    if not possible:
        return None
    symptom = _earliest([f for f in possible if f.kind in (Kind.SYMPTOM, Kind.STOP)])
    ranked: dict[int, list[Finding]] = {}
    for finding in possible:
        weight = _WEIGHT[finding.kind]
        if finding.kind is Kind.EXCEPTION and symptom is not None and _is_after(finding, symptom):
            weight = _WEIGHT[Kind.ECHO]
        if finding.kind is Kind.STOP and finding is symptom:
            weight = _WEIGHT[Kind.SYMPTOM]
        ranked.setdefault(weight, []).append(finding)
    first = _earliest(ranked[min(ranked)])
    if first is None:
        return None
    if first.name == "nccl_timeout":
        return _straggler(ranked[min(ranked)]) or first
    return _more_telling(first, possible)


def in_time(findings: Iterable[Finding]) -> list[Finding]:
    """Findings from the earliest on: by the log's own clock where all have one, else file by file."""
    listed = list(findings)
    if all(f.stamp_s is not None for f in listed):
        return sorted(listed, key=lambda f: (f.stamp_s or 0.0, f.file, f.line or 0))
    return sorted(listed, key=lambda f: (f.file, f.line or 0))


def _earliest(findings: Sequence[Finding]) -> Finding | None:
    """Within a file its lines count, since several clocks may write into it; between files the stamps do."""
    by_file: dict[str, Finding] = {}
    for finding in findings:
        first = by_file.get(finding.file)
        if first is None or (finding.line or 0) < (first.line or 0):
            by_file[finding.file] = finding
    return min(by_file.values(), key=lambda f: inf if f.stamp_s is None else f.stamp_s, default=None)


def _is_after(finding: Finding, other: Finding) -> bool:
    if finding.file == other.file:
        return (finding.line or 0) > (other.line or 0)
    return finding.stamp_s is not None and other.stamp_s is not None and finding.stamp_s >= other.stamp_s


def _is_survived(finding: Finding, steps: Sequence[StepRecord]) -> bool:
    """Whether the run went on: two more steps came, since the line of one may be late."""
    after = 0
    for step in steps:
        if step.file == finding.file:
            after += finding.line is not None and step.line > finding.line
        elif finding.stamp_s is not None and step.timestamp_s is not None:
            after += step.timestamp_s > finding.stamp_s
        if after >= _SURVIVED_STEPS:
            return True
    return False


def _more_telling(first: Finding, possible: Sequence[Finding]) -> Finding:
    """Of the same class and file, a line near by that says more than a mere hint."""
    if not first.is_hint:
        return first
    for other in possible:
        is_near = other.file == first.file and 0 <= (other.line or 0) - (first.line or 0) <= _HINT_REACH
        if other.name == first.name and not other.is_hint and is_near:
            return other
    return first


def _straggler(timeouts: Sequence[Finding]) -> Finding | None:
    """The rank that hangs in an earlier collective than all others of its process group, where one alone does."""
    places: dict[tuple[str, int], tuple[int, Finding]] = {}
    for finding in timeouts:
        number, rank, group = _COLLECTIVE.search(finding.text), finding.origin.rank, _GROUP.search(finding.text)
        if number is None or rank is None:
            continue
        key = (group[1] if group else "", rank)
        if key not in places or int(number[1]) < places[key][0]:
            places[key] = (int(number[1]), finding)
    for group_name in dict.fromkeys(group for group, _ in places):
        numbers = {rank: place for (group, rank), place in places.items() if group == group_name}
        least = min(place[0] for place in numbers.values())
        behind = [place[1] for place in numbers.values() if place[0] == least]
        if len(behind) == 1 and len(numbers) > 1:
            return behind[0]
    return None


def distinct(findings: Iterable[Finding], *, most: int) -> tuple[Finding, ...]:
    """The first finding of each class, rank and node, in time, at most so many; the same words in a row once."""
    seen: Counter[tuple[object, ...]] = Counter()
    kept: list[Finding] = []
    for finding in in_time(findings):
        key = (finding.name, finding.origin.rank, finding.origin.node)
        seen[key] += 1
        if seen[key] == 1 and len(kept) < most:
            kept.append(finding)
    return tuple(kept)
