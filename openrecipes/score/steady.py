"""Whether the window is steady, by the limits of the rule."""

from collections.abc import Iterator

from openrecipes.figures.throughput import median, step_time_cv_percent
from openrecipes.problems import Problem
from openrecipes.score.spread import Drift
from openrecipes.score.step_refusals import Scene
from openrecipes.score.window import STEADY_LIMITS, SteadyLimits

_MEND = "find out what disturbed the run and measure again; --allow-unsteady scores it all the same and says so"


def unsteady(scene: Scene, drift: Drift | None, limits: SteadyLimits = STEADY_LIMITS) -> Iterator[Problem]:
    """Each limit that the window breaks, its own problem. Every scored step has a positive time."""
    scored = [(step, time) for step in scene.scored if (time := step.step_time_s) is not None]
    times = [time for _, time in scored]
    cv = step_time_cv_percent(times)
    if cv > limits.step_time_cv_percent:
        yield scene.problem(
            "unsteady-cv",
            f"step times vary by {cv:.2f} % (CV), where a steady window stays within {limits.step_time_cv_percent:g} %",
            _MEND,
        )
    if drift and abs(drift.percent) > limits.trend_percent and drift.p_value < limits.trend_p_value:
        way = "rise" if drift.percent > 0 else "fall"
        yield scene.problem(
            "unsteady-trend",
            f"step times {way} by {abs(drift.percent):.1f} % across the window (p {drift.p_value:.2g}), where a steady "
            f"window stays within {limits.trend_percent:g} % at p {limits.trend_p_value:g}",
            _MEND,
        )
    middle = median(times)
    for step, time in scored:
        if time > limits.step_over_median * middle:
            yield scene.problem(
                "unsteady-step",
                f"step {step.step} took {time:.3f} s, {time / middle:.2f} times the median of {middle:.3f} s, where a "
                f"steady window stays within {limits.step_over_median:g} times",
                _MEND,
                at=step,
            )
