"""Where a job's GPU-hours went: from its place in the queue to the end of its teardown, and how much was scored."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum
from typing import Any, Final

from openrecipes.figures.gpu_hours import gpu_hours

QUEUE: Final = "queue"
WINDOW: Final = "window"
MEANS: Final = {
    "queue": "prepared until the job started; holds no GPU",
    "image": "container, environment and its capture, until the trainer's first line",
    "data": "the trainer's programs start and read their rows",
    "checkpoint": "weights are loaded",
    "first_step": "compilation, communicators, first allocations",
    "warm_up": "the steps before the window",
    "window": "the scored steps",
    "after_window": "steps after the window",
    "teardown": "from the last step to the job's end",
}
"""The phases in their order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Moments:
    """When the phases of one job ended, in seconds since 1970 (UTC); None where nothing says so.

    `loading` is when the checkpoint began to load, `loaded` when the first step began. `scored_s` is the sum of the
    window's step times. `has_image` is false where the job is known to run in no container: the time until the
    trainer's first line then counts to its programs' start.
    """

    prepared: float | None
    start: float
    first_line: float | None
    loading: float | None
    loaded: float | None
    first_step: float | None
    window_start: float | None
    window_end: float | None
    last_step: float | None
    end: float
    has_image: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """One phase, or several that nothing tells apart: `names` in their order."""

    names: tuple[str, ...]
    seconds: float
    gpu_hours: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Ledger:
    """The phases of a job in their order. All but the queue tile it from start to end, so they sum to its GPU-hours."""

    phases: tuple[Phase, ...]

    @property
    def gpu_hours(self) -> float:
        """GPU-hours of the whole job."""
        return fsum(phase.gpu_hours for phase in self.phases)

    @property
    def scored_share(self) -> float | None:
        """The window's share of the GPU-hours, a fraction; None where the window is not known."""
        window = next((phase for phase in self.phases if phase.names == (WINDOW,)), None)
        return window.gpu_hours / self.gpu_hours if window and self.gpu_hours else None

    def document(self) -> dict[str, Any]:
        """The ledger as `--json` prints it."""
        phases = [{"names": list(p.names), "seconds": p.seconds, "gpu_hours": p.gpu_hours} for p in self.phases]
        return {"phases": phases, "gpu_hours": self.gpu_hours, "scored_share": self.scored_share}


def ledger(moments: Moments, gpus: int) -> Ledger:
    """The ledger of a job on so many GPUs.

    A moment that is not known puts its phase together with the next; one out of order (stamps have whole
    seconds, clocks differ, logs begin late) is moved to the one after it.
    Raises: ValueError if the job ends before it starts or has no GPU.
    """
    whole = gpu_hours(gpus, moments.start, moments.end)
    phases = []
    if moments.prepared is not None and moments.prepared <= moments.start:
        phases.append(Phase(names=(QUEUE,), seconds=moments.start - moments.prepared, gpu_hours=0.0))
    seconds = moments.end - moments.start
    for names, took in _tiles(moments):
        share = whole * took / seconds if seconds else 0.0
        phases.append(Phase(names=names, seconds=took, gpu_hours=share))
    return Ledger(phases=tuple(phases))


def _tiles(moments: Moments) -> Iterator[tuple[tuple[str, ...], float]]:
    ends = (
        *((("image", moments.first_line),) if moments.has_image else ()),
        ("data", moments.loading),
        ("checkpoint", moments.loaded),
        ("first_step", moments.first_step),
        ("warm_up", moments.window_start),
        (WINDOW, moments.window_end),
        ("after_window", moments.last_step),
        ("teardown", moments.end),
    )
    # A phase cannot end after a later one has: the later moment counts, since the log may begin late.
    bounded: list[tuple[str, float | None]] = []
    limit = moments.end
    for name, end in reversed(ends):
        limit = limit if end is None else max(min(end, limit), moments.start)
        bounded.append((name, None if end is None else limit))
    before = moments.start
    names: tuple[str, ...] = ()
    for name, end in reversed(bounded):
        names = (*names, name)
        if end is None:
            continue
        if end > before or names != ("after_window",):
            yield names, end - before
        before, names = end, ()
