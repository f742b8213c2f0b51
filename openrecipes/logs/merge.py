"""One run's steps from all its files and attempts: copies counted once, restarts told apart, gaps named."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from openrecipes.logs.step import StepRecord
from openrecipes.problems import Place, Problem


def merged(files: Iterable[Iterable[StepRecord]]) -> tuple[tuple[StepRecord, ...], tuple[Problem, ...]]:
    """Steps in the log's order, each with its attempt; and what a reader of the figures must know about them."""
    steps: list[StepRecord] = []
    seen: dict[int, float | None] = {}
    problems: list[Problem] = []
    attempt, last = 0, None
    for file in files:
        for step in file:
            if step.step is not None and _is_copy(step, seen):
                continue
            if step.step is not None:
                if last is not None and step.step <= last:
                    attempt += 1
                    problems.append(_restarted(step, last))
                last = step.step
            steps.append(replace(step, attempt=attempt) if attempt else step)
    problems.extend(_gaps(steps))
    problems.extend(_clock(steps))
    return tuple(steps), tuple(problems)


def _is_copy(step: StepRecord, seen: dict[int, float | None]) -> bool:
    """Whether another record said the same of the same step, at the same time where both say one."""
    times = (step.step_time_s, step.train_time_s, step.wait_time_s)
    identity = hash(repr((step.step, *times, step.loss, step.grad_norm, step.lr, step.tokens, step.extra)))
    if identity not in seen:
        seen[identity] = step.timestamp_s
        return False
    return seen[identity] is None or step.timestamp_s is None or seen[identity] == step.timestamp_s


def _restarted(step: StepRecord, last: int) -> Problem:
    return Problem(
        place=Place(file=step.file, line=step.line, key=f"step {step.step}"),
        rule="steps-restarted",
        severity="warning",
        what=f"step {step.step} after step {last}: a second run, or a restart that repeats steps",
        mend="score one attempt alone: cut the log before this line, or give one file a run",
    )


def _gaps(steps: list[StepRecord]) -> Iterator[Problem]:
    """Ranges of step numbers that the log skips."""
    for before, after in pairwise(steps):
        if before.step is None or after.step is None or before.attempt != after.attempt:
            continue
        first, last = before.step + 1, after.step - after.interval
        if last >= first:
            missing = f"step {first} is" if first == last else f"steps {first}-{last} are"
            yield Problem(
                place=Place(file=after.file, line=after.line, key=f"step {after.step}"),
                rule="steps-missing",
                severity="warning",
                what=f"{missing} not in the log, between step {before.step} and step {after.step}",
                mend="read the whole log, with the output of every node",
            )


def _clock(steps: list[StepRecord]) -> Iterator[Problem]:
    """The first place where the log's own clock goes back by more than a second."""
    for before, after in pairwise(steps):
        if before.timestamp_s is None or after.timestamp_s is None or before.attempt != after.attempt:
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
