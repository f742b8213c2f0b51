"""One run's steps from all its files and attempts: copies counted once, restarts told apart, gaps named."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from openrecipes.logs.copies import CopyFilter, in_run_order, one_rank
from openrecipes.logs.intervals import with_intervals
from openrecipes.logs.step import StepRecord
from openrecipes.problems import Place, Problem

Merged = tuple[tuple[StepRecord, ...], tuple[Problem, ...]]


def merged(files: Iterable[Sequence[StepRecord]], arguments: Mapping[str, str], *, averages: bool) -> Merged:
    """Steps in the run's order, each with its attempt; and what a reader of the figures must know about them.

    `averages`: the format prints the mean over a log interval.
    """
    problems: list[Problem] = []
    told: list[Sequence[StepRecord]] = []
    copies = CopyFilter()
    for file in files:
        steps, complaints = one_rank(_forward([step for step in file if not copies.is_copy(step)], problems))
        problems.extend(complaints)
        told.append(steps)
    together = [step for file in _side_by_side_files(told, problems) for step in file]
    attempts = list(_attempts(together, problems))
    if averages:
        attempts = [with_intervals(attempt, arguments) for attempt in attempts]
    for attempt in attempts:
        problems.extend(_gaps(attempt))
        problems.extend(_clock(attempt))
    steps = tuple(step for attempt in attempts for step in attempt)
    return steps, (*problems, *_unsaid(steps))


def _forward(file: Sequence[StepRecord], problems: list[Problem]) -> Sequence[StepRecord]:
    """The file's steps first to last: some viewers print the newest line first."""
    numbers = [step.step for step in file]
    backwards = len(file) > 2 and all(
        before is not None and after is not None and after == before - 1 for before, after in pairwise(numbers)
    )
    if not backwards:
        return file
    problems.append(
        Problem(
            place=Place(file=file[0].file, line=file[0].line),
            rule="log-reversed",
            severity="warning",
            what=f"the steps count down from {numbers[0]} to {numbers[-1]}: the newest line comes first",
            mend="nothing; the steps were turned round",
        )
    )
    return tuple(reversed(file))


def _side_by_side_files(files: list[Sequence[StepRecord]], problems: list[Problem]) -> Iterator[Sequence[StepRecord]]:
    """The files in the run's order, without those that tell the steps of another file at the same time."""
    kept: list[Sequence[StepRecord]] = []
    ordered = sorted(in_run_order(files), key=lambda file: -sum(step.step_time_s is not None for step in file))
    for file in ordered:
        twin = next((other for other in kept if _is_twin(file, other)), None)
        if twin is None:
            kept.append(file)
        else:
            problems.append(
                Problem(
                    place=Place(file=file[0].file, line=file[0].line),
                    rule="rank-copies",
                    severity="warning",
                    what=f"tells the steps that {twin[0].file} tells; those of {twin[0].file} are used",
                    mend="nothing, if that rank speaks for all; else read one file alone",
                )
            )
    yield from in_run_order(kept)


def _is_twin(file: Sequence[StepRecord], other: Sequence[StepRecord]) -> bool:
    """Whether two files tell the same steps of one attempt: mostly the same numbers, over the same time."""
    numbers = {step.step for step in file if step.step is not None}
    shared = numbers & {step.step for step in other}
    if len(shared) * 2 < len(numbers) or not shared:
        return False
    first, second = _span(file), _span(other)
    if first is not None and second is not None:
        return first[0] <= second[1] and second[0] <= first[1]
    losses = {step.step: step.loss for step in other}
    same = sum(step.loss == losses[step.step] for step in file if step.step in shared)
    return same * 10 >= len(shared) * 9


def _span(file: Sequence[StepRecord]) -> tuple[float, float] | None:
    stamps = [step.timestamp_s for step in file if step.timestamp_s is not None]
    return (min(stamps), max(stamps)) if stamps else None


def _attempts(steps: Sequence[StepRecord], problems: list[Problem]) -> Iterator[tuple[StepRecord, ...]]:
    """The steps cut where their numbers begin again."""
    attempt: list[StepRecord] = []
    number, last = 0, None
    for step in steps:
        if step.step is not None:
            if last is not None and step.step <= last:
                yield tuple(attempt)
                number, attempt = number + 1, []
                problems.append(_restarted(step, last))
            last = step.step
        attempt.append(replace(step, attempt=number) if number else step)
    if attempt:
        yield tuple(attempt)


def _restarted(step: StepRecord, last: int) -> Problem:
    return Problem(
        place=Place(file=step.file, line=step.line, key=f"step {step.step}"),
        rule="steps-restarted",
        severity="warning",
        what=f"step {step.step} after step {last}: a second run, or a restart that repeats steps",
        mend="score one attempt alone: cut the log before this line, or give one file a run",
    )


def _unsaid(steps: Sequence[StepRecord]) -> Iterator[Problem]:
    """Records without a number, and a log that never tells a step time."""
    unnumbered = [step for step in steps if step.step is None]
    if unnumbered:
        first = unnumbered[0]
        yield Problem(
            place=Place(file=first.file, line=first.line),
            rule="steps-unnumbered",
            severity="warning",
            what=f"{_records(len(unnumbered))} no exact step number; only their order is known",
            mend="read a log in which every record has its number",
        )
    if steps and all(step.step_time_s is None for step in steps):
        yield Problem(
            place=Place(file=steps[0].file, line=steps[0].line),
            rule="step-times-missing",
            severity="warning",
            what=f"{_records(len(steps))} no step time; a rate or an average is none",
            mend="read the log of the process that prints step times",
        )
    yield from _absent(steps, "step time", [step.step_time_s is None for step in steps])
    yield from _absent(steps, "loss", [step.loss is None and not step.skipped for step in steps])


def _absent(steps: Sequence[StepRecord], name: str, lacks: Sequence[bool]) -> Iterator[Problem]:
    """A value that some records lack where others have it: something broke it, or it was not finite."""
    without = [step for step, lacking in zip(steps, lacks, strict=True) if lacking]
    if len(without) in (0, len(steps)):
        return
    more = f", and neither have {len(without) - 1} more" if len(without) > 1 else ""
    yield Problem(
        place=Place(file=without[0].file, line=without[0].line, key=f"step {without[0].step}"),
        rule="value-absent",
        severity="warning",
        what=f"step {without[0].step} has no {name}{more}, where the others have one",
        mend="look at this line of the log: the value may be overwritten, cut off, not finite, or still to come",
    )


def _records(count: int) -> str:
    return "1 record has" if count == 1 else f"{count} records have"


def _gaps(steps: Sequence[StepRecord]) -> Iterator[Problem]:
    """Ranges of step numbers that the log skips."""
    numbered = [step for step in steps if step.step is not None]
    for before, after in pairwise(numbered):
        first, last = (before.step or 0) + 1, (after.step or 0) - after.interval
        if last >= first:
            missing = f"step {first} is" if first == last else f"steps {first}-{last} are"
            yield Problem(
                place=Place(file=after.file, line=after.line, key=f"step {after.step}"),
                rule="steps-missing",
                severity="warning",
                what=f"{missing} not in the log, between step {before.step} and step {after.step}",
                mend="read the whole log, with the output of every node",
            )


def _clock(steps: Sequence[StepRecord]) -> Iterator[Problem]:
    """The first place where the log's own clock goes back by more than a second."""
    for before, after in pairwise(steps):
        if before.timestamp_s is None or after.timestamp_s is None:
            continue
        back_s = before.timestamp_s - after.timestamp_s
        if back_s > 1.0 and before.file == after.file:
            yield Problem(
                place=Place(file=after.file, line=after.line, key=f"step {after.step}"),
                rule="clock-backwards",
                severity="warning",
                what=f"the log's clock goes back by {back_s:.0f} s between step {before.step} and step {after.step}",
                mend="check whether the log was put together from several; its stamps prove nothing about the steps",
            )
            return
