"""Negative controls of components that are functions: a spoilt input, or a spoilt result."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from openrecipes.correctness.component.frame import Control, Judged, control

Case = TypeVar("Case")
Result = TypeVar("Result")


def _same_case(case: Case) -> Case:
    return case


def _same_result(_case: object, result: Result) -> Result:
    return result


@dataclass(frozen=True, kw_only=True, slots=True)
class Mistake(Generic[Case, Result]):
    """What is wrong: the component is given `case(sound case)`, or shows `result(sound case, its result)`.

    The judgement is always of the sound case, so the component seems to have made the mistake itself.
    """

    name: str
    spoilt: str
    case: Callable[[Case], Case] = _same_case
    result: Callable[[Case, Result], Result] = _same_result


def controls_of(
    mistakes: Iterable[Mistake[Case, Result]],
    case: Case,
    run: Callable[[Case], Result],
    judge: Callable[[Case, Result], Iterable[Judged]],
) -> tuple[Control, ...]:
    """What catches each mistake at this case; nothing counts as caught where the sound component fails there."""
    sound = tuple(judge(case, run(case)))

    def outcome(mistake: Mistake[Case, Result]) -> Control:
        def spoilt() -> Iterable[Judged]:
            return judge(case, mistake.result(case, run(mistake.case(case))))

        return control(mistake.name, mistake.spoilt, sound=lambda: sound, spoilt_judged=spoilt)

    return tuple(outcome(mistake) for mistake in mistakes)
