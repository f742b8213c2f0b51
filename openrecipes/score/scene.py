"""What every refusal looks at: a run, what it should have been, and the window that is to be scored."""

from collections.abc import Iterable
from dataclasses import dataclass

from openrecipes.logs.step import StepRecord
from openrecipes.problems import Place, Problem, Severity
from openrecipes.score.expected import Expected
from openrecipes.score.run_evidence import Run
from openrecipes.score.window import ScoredWindow


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """A run, what it should have been, and the window that is to be scored."""

    run: Run
    expected: Expected
    window: ScoredWindow
    steps_per_run: int

    @property
    def scored(self) -> tuple[StepRecord, ...]:
        """The records of the window's steps, in the log's order."""
        return tuple(step for step in self.run.steps if self.is_scored(step))

    def is_scored(self, step: StepRecord) -> bool:
        """Whether the step lies in the window."""
        number = self.run.number(step)
        return number is not None and self.window.first <= number <= self.window.last

    def problem(
        self,
        rule: str,
        what: str,
        mend: str,
        *,
        at: StepRecord | None = None,
        key: str = "",
        severity: Severity = "error",
    ) -> Problem:
        """A problem of this run, at a step's line of the log where there is one."""
        place = Place(file=self.run.name, key=key)
        if at is not None:
            place = Place(file=at.file or self.run.name, line=at.line or None, key=key or f"step {at.step}")
        return Problem(place=place, rule=rule, what=what, mend=mend, severity=severity)


def ranges(numbers: Iterable[int]) -> str:
    """Numbers for people: `4`, `4, 6`, `4-9, 12`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
