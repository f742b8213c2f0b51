"""A run that goes on, for people: one live line on a terminal, plain lines elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from openrecipes import units
from openrecipes.cli import output
from openrecipes.problems import printable
from openrecipes.targets.follow import Progress

_WORDS = {
    "queued": "queued",
    "starting": "starting",
    "preflight": "preflight: nodes look at themselves",
    "joining": "joining: nodes come to Ray",
    "loading": "loading: trainer, model and rows",
    "training": "training",
    "ended": "ended",
}
# Without a terminal there are about so many lines a run, however long it is.
_LINES = 25


@contextmanager
def run_progress(usd_per_hour: float | None = None) -> Iterator[Callable[[Progress], None]]:
    """What takes each look at a run, while the block lasts; with a price, it tells the cost too."""
    if not output.is_terminal():
        yield _Lines(usd_per_hour).show
        return
    spinner = Spinner("dots")
    with Live(spinner, console=output.console(stderr=True), refresh_per_second=8, transient=True):

        def show(look: Progress) -> None:
            spinner.update(text=Text(progress_line(look, usd_per_hour)))

        yield show


def progress_line(look: Progress, usd_per_hour: float | None = None) -> str:
    """`training  step 5 of 14  loss 1.213  1.42 s a step  12.8 s left, 21.3 s so far, $6.0 of about $9.6`."""
    parts = [_WORDS[look.stage]]
    if look.detail and look.stage not in ("training", "loading"):
        parts.append(printable(look.detail))
    if look.steps_done:
        parts.append(f"step {look.steps_done} of {look.steps_wanted}")
    if look.last is not None and look.last.loss is not None:
        parts.append(f"loss {look.last.loss:.3f}")
    if look.last is not None and look.last.step_time_s is not None:
        parts.append(f"{units.seconds(look.last.step_time_s)} a step")
    if look.left_s and look.stage == "training":
        parts.append(f"{units.seconds(look.left_s)} left")
    return "  ".join(parts) + f", {units.seconds(look.elapsed_s)} so far{_cost(look, usd_per_hour)}"


def _cost(look: Progress, usd_per_hour: float | None) -> str:
    """What it has cost, and what it will have cost; nothing while it waits and holds no GPU."""
    if usd_per_hour is None or look.stage == "queued":
        return ""
    so_far = look.elapsed_s / 3600 * usd_per_hour
    if look.stage != "training" or look.left_s is None:
        return f", ${so_far:,.2f}"
    return f", ${so_far:,.2f} of about ${so_far + look.left_s / 3600 * usd_per_hour:,.2f}"


class _Lines:
    """A line when the stage or what is said of it changes, and every so many steps."""

    def __init__(self, usd_per_hour: float | None = None) -> None:
        self._usd_per_hour = usd_per_hour
        self._said = ("", "")
        self._shown = 0

    def show(self, look: Progress) -> None:
        """Prints the look if it is news."""
        every = max(1, look.steps_wanted // _LINES)
        is_last = look.steps_done == look.steps_wanted != self._shown
        said = (look.stage, "" if look.stage in ("training", "loading") else look.detail)
        if said != self._said or look.steps_done >= self._shown + every or is_last:
            self._said, self._shown = said, look.steps_done
            output.say(progress_line(look, self._usd_per_hour))
