"""Step times against clocks: the log's own stamps, the arrival of its lines, the length of the whole job."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum
from typing import Final

from openrecipes.logs.step import StepRecord
from openrecipes.problems import Problem
from openrecipes.runs.arrivals import Arrival, Arrivals
from openrecipes.score.scene import Scene
from openrecipes.score.step_refusals import is_plausible

# Log stamps have whole seconds, and a line is printed a little after the step it tells of.
_CLOCK_TOLERANCE_S: Final = 2.0
_CLOCK_TOLERANCE: Final = 0.02
_FEWEST_STAMPS: Final = 6
_WHOLE: Final = "score a log as the trainer wrote it, whole and of one run"


def clock_refusals(scene: Scene) -> Iterator[Problem]:
    """Every contradiction between the step times and a clock."""
    yield from _own_clock(scene)
    yield from _arrival_clock(scene)
    yield from _job_clock(scene)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stretch:
    """The steps of the window, `times`, from the end of the step `before` them to the end of the `last` one."""

    before: StepRecord
    last: StepRecord
    times: tuple[float, ...]

    @property
    def told_s(self) -> float:
        """What the step times sum to."""
        return fsum(self.times)

    @property
    def tolerance_s(self) -> float:
        """By how much a clock may differ from that."""
        return _CLOCK_TOLERANCE_S + _CLOCK_TOLERANCE * self.told_s

    @property
    def words(self) -> str:
        """Which steps, and what they sum to."""
        return f"the step times after step {self.before.step} up to step {self.last.step} sum to {self.told_s:.1f} s"


def _stretch(scene: Scene, *, stamped: bool) -> _Stretch | None:
    """The window between two records that a clock can tell apart; `stamped`: only records with a stamp count.

    Without the step before the window, its own first step takes that place. None where a refusal of their own
    forbids the sum, or the two ends are of different attempts or files.
    """
    by_number = {scene.run.number(step): step for step in scene.run.steps}
    times = [time for step in scene.scored if (time := step.step_time_s) is not None and is_plausible(time)]
    if not len(times) == len(scene.scored) == scene.window.steps:
        return None
    last, before = by_number.get(scene.window.last), by_number.get(scene.window.first - 1)
    if before is None or (stamped and before.timestamp_s is None):
        before, times = by_number.get(scene.window.first), times[1:]
    if before is None or last is None or before.attempt != last.attempt or before.file != last.file:
        return None
    return _Stretch(before=before, last=last, times=tuple(times))


def _own_clock(scene: Scene) -> Iterator[Problem]:
    """The log's stamps at both ends of the window against the step times between them."""
    stretch = _stretch(scene, stamped=True)
    if stretch is None or stretch.before.timestamp_s is None or stretch.last.timestamp_s is None:
        return
    passed = stretch.last.timestamp_s - stretch.before.timestamp_s
    if _is_no_clock([step.timestamp_s for step in scene.scored], stretch.times):
        yield scene.problem(
            "clock-evenly-spaced",
            f"the log's stamps lie {passed / len(stretch.times):.0f} s apart, step after step, however long the steps "
            "took: they are no clock, and confirm no step time",
            "score a log with the trainer's own stamps, if there is one",
            at=stretch.last,
            severity="warning",
        )
        return
    if abs(stretch.told_s - passed) > stretch.tolerance_s:
        what = f"{stretch.words}, but the log's own stamps there lie {passed:.0f} s apart"
        yield scene.problem("clock-contradiction", what, _WHOLE, at=stretch.last)


def _is_no_clock(stamps: Sequence[float | None], times: Sequence[float]) -> bool:
    """Whether the stamps are as evenly spaced as no clock shows them beside steps of such different length."""
    known = [stamp for stamp in stamps if stamp is not None]
    if len(known) < _FEWEST_STAMPS or len(known) < len(stamps) or max(times) - min(times) <= 2 * _CLOCK_TOLERANCE_S:
        return False
    gaps = [after - before for before, after in pairwise(known)]
    return max(gaps) - min(gaps) < 1


def _arrival_clock(scene: Scene) -> Iterator[Problem]:
    """When the window's lines came into the log, by the clock of the launch, against the step times between them."""
    arrivals, note = scene.run.arrivals, scene.run.arrivals_note
    if note is not None:
        what, mend = f"log/arrivals.jsonl confirms no step time: {note}", "keep the run directory as the run left it"
        yield scene.problem("arrivals-unfit", what, mend, severity="warning")
    stretch = _stretch(scene, stamped=False)
    if arrivals is None or stretch is None:
        return
    before, last = _came(arrivals, stretch.before), _came(arrivals, stretch.last)
    if before is None or last is None:
        yield scene.problem(
            "arrivals-short",
            f"the launch timed the first {arrivals.lines} lines of the log, and step {stretch.last.step} comes later: "
            "its clock confirms no step time",
            "let the launched script end on its own; what kills it ends its clock too",
            at=stretch.last,
            severity="warning",
        )
        return
    held_back = _held_back((stretch.before, *scene.scored), arrivals)
    if held_back:
        before, last = _printed(scene, arrivals, before), _printed(scene, arrivals, last)
    least, most = max(0.0, last.after_s - before.before_s), last.before_s - before.after_s
    if not least - stretch.tolerance_s <= stretch.told_s <= most + stretch.tolerance_s:
        what = f"{stretch.words}, but by the launch's clock they came into the log {_span(least, most)} apart"
        yield scene.problem("arrival-contradiction", what, _WHOLE, at=stretch.last)
    elif held_back:
        yield scene.problem(
            "arrivals-held-back",
            f"steps came into the log together that say they took longer: its lines were held back, and the launch's "
            f"clock tells no more than {_span(least, most)} for the {stretch.told_s:.1f} s of the window",
            "let the trainer write each line at once (PYTHONUNBUFFERED=1)",
            at=stretch.last,
            severity="warning",
        )


def _span(least: float, most: float) -> str:
    return f"{least:.0f} to {most:.0f} s"


def _came(arrivals: Arrivals, step: StepRecord) -> Arrival | None:
    """When the record came that tells the step's time."""
    return arrivals.of_line(step.timed_line or step.line)


def _held_back(steps: Iterable[StepRecord], arrivals: Arrivals) -> bool:
    """Whether steps came together, within less time than they say they took."""
    times: dict[int, list[float]] = {}
    width: dict[int, float] = {}
    for step in dict.fromkeys(steps):
        came = _came(arrivals, step)
        if came is not None and step.step_time_s is not None:
            times.setdefault(came.look, []).append(step.step_time_s)
            width[came.look] = came.before_s - came.after_s
    return any(fsum(told[1:]) > width[look] + _CLOCK_TOLERANCE_S for look, told in times.items())


def _printed(scene: Scene, arrivals: Arrivals, came: Arrival) -> Arrival:
    """When a line that was held back can have been printed: at any time since steps came before it."""
    job = scene.run.job
    earlier = [one for step in scene.run.steps if (one := _came(arrivals, step)) is not None and one.look < came.look]
    since = max((one.after_s for one in earlier), default=job.start_unix_s if job else arrivals.start_unix_s)
    return Arrival(after_s=min(since, came.after_s), before_s=came.before_s, look=came.look)


def _job_clock(scene: Scene) -> Iterator[Problem]:
    """All step times against the length of the job."""
    job = scene.run.job
    if job is None or job.end_unix_s is None:
        return
    times = (step.step_time_s for step in scene.run.steps)
    told = fsum(time for time in times if time is not None and is_plausible(time))
    passed = job.end_unix_s - job.start_unix_s
    if told > passed + _CLOCK_TOLERANCE_S + _CLOCK_TOLERANCE * passed:
        yield scene.problem(
            "job-clock-contradiction",
            f"the step times sum to {told:.1f} s, but the whole job took {passed:.1f} s",
            "score the log that belongs to this job",
        )
