"""How many steps one record stands for, in formats that print the mean over a log interval."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from openrecipes.logs.step import StepRecord

_ROUND = frozenset((2, 4, 5, 8, 10, 16, 20, 25, 32, 40, 50, 64, 100, 128, 200, 250, 256, 500, 512, 1000))


def with_intervals(steps: Sequence[StepRecord], arguments: Mapping[str, str]) -> tuple[StepRecord, ...]:
    """The steps of one attempt, each with the number of steps it is the mean of.

    The log interval is what the trainer's arguments declare, else the usual distance between two records. A record
    after a gap still stands for one log interval only.
    """
    numbers = [step.step for step in steps if step.step is not None]
    interval = _declared(arguments) or _usual(numbers)
    if interval <= 1:
        return tuple(steps)
    covered: list[StepRecord] = []
    last: int | None = None
    for step in steps:
        if step.step is None:
            covered.append(step)
            continue
        stands_for = (step.step % interval or interval) if last is None else min(step.step - last, interval)
        covered.append(replace(step, interval=stands_for, timed_over=stands_for))
        last = step.step
    return tuple(covered)


def _declared(arguments: Mapping[str, str]) -> int:
    text = arguments.get("log_interval", "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _usual(numbers: Sequence[int]) -> int:
    """The distance that most records keep. Some releases print the first step besides the multiples."""
    regular = numbers[1:] if len(numbers) > 1 and numbers[0] == 1 and numbers[1] != 2 else numbers
    distances = Counter(after - before for before, after in pairwise(regular) if after > before)
    if not distances:
        alone = regular[0] if len(regular) == 1 and len(numbers) == 2 else 1
        return alone if alone in _ROUND else 1
    most = max(distances.values())
    usual = min(distance for distance, count in distances.items() if count == most)
    if most == 1 and usual not in _ROUND:
        return 1
    return usual if all(number % usual == regular[0] % usual for number in regular) else 1
