"""Whether the window is steady, by the limits of the rule."""

from collections.abc import Iterator

from openrecipes.figures.throughput import median, step_time_cv_percent
from openrecipes.logs.step import StepRecord
from openrecipes.problems import Problem
from openrecipes.score.scene import Scene
from openrecipes.score.spread import Drift
from openrecipes.score.window import STEADY_LIMITS, SteadyLimits

_MEND = "find out what disturbed the run and measure again; --allow-unsteady scores it all the same and says so"
_NAMED = 5
_MEND_ALLOWED = "find out what disturbed the run and measure again, if the figure is to be ranked"


def unsteady(
    scene: Scene, drift: Drift | None, *, is_allowed: bool, limits: SteadyLimits = STEADY_LIMITS
) -> Iterator[Problem]:
    """Each limit that the window breaks, its own problem: a warning where that `is_allowed`, else an error.

    Every scored step has a positive time.
    """
    for rule, what, at in _broken(scene, drift, limits):
        if is_allowed:
            yield scene.problem(rule, what, _MEND_ALLOWED, at=at, severity="warning")
        else:
            yield scene.problem(rule, what, _MEND, at=at)


def _broken(scene: Scene, drift: Drift | None, limits: SteadyLimits) -> Iterator[tuple[str, str, StepRecord | None]]:
    scored = [(step, time) for step in scene.scored if (time := step.step_time_s) is not None]
    times = [time for _, time in scored]
    cv, middle = step_time_cv_percent(times), median(times)
    if cv > limits.step_time_cv_percent:
        limit = f"a steady window stays within {limits.step_time_cv_percent:g} %"
        yield "unsteady-cv", f"step times vary by {cv:.2f} % (CV), where {limit}", None
    if drift and abs(drift.percent) > limits.trend_percent and drift.p_value < limits.trend_p_value:
        moved = f"step times {'rise' if drift.percent > 0 else 'fall'} by {abs(drift.percent):.1f} % across the window"
        limit = f"a steady window stays within {limits.trend_percent:g} % at p {limits.trend_p_value:g}"
        yield "unsteady-trend", f"{moved} (p {drift.p_value:.2g}), where {limit}", None
    slow = [(step, time) for step, time in scored if time > limits.step_over_median * middle]
    if slow:
        named = ", ".join(f"step {step.step} took {time:.3f} s{_beside(scene, step)}" for step, time in slow[:_NAMED])
        more = f" and {len(slow) - _NAMED} more" if len(slow) > _NAMED else ""
        limit = f"a steady window stays within {limits.step_over_median:g} times the median of {middle:.3f} s"
        yield "unsteady-step", f"{named}{more}, where {limit}", slow[0][0]


def _beside(scene: Scene, step: StepRecord) -> str:
    """What the log shows between the step before and this one: ` (beside it: a checkpoint save, line 47)`."""
    earlier = [other.line for other in scene.run.steps if other.file == step.file and other.line < step.line]
    begin = max(earlier, default=0)
    found: dict[str, int] = {}
    for event in scene.run.notes.events:
        if event.file == step.file and begin < event.line <= step.line:
            found.setdefault(event.words, event.line)
    if step.attempt and all(other.attempt < step.attempt for other in scene.run.steps if other.line < step.line):
        found.setdefault("a restart", step.line)
    return f" (beside it: {', '.join(f'{words}, line {line}' for words, line in found.items())})" if found else ""
