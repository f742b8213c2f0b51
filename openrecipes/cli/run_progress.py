"""A run that goes on, for people: one live line on a terminal, plain lines elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from openrecipes import units
from openrecipes.cli import output
from openrecipes.targets.follow import Progress

_WORDS = {
    "starting": "starting: environment is captured",
    "loading": "loading: trainer, model and rows",
    "training": "training",
    "ended": "ended",
}
# Without a terminal there are about so many lines a run, however long it is.
_LINES = 25


@contextmanager
def run_progress() -> Iterator[Callable[[Progress], None]]:
    """What takes each look at a run, while the block lasts."""
    if not output.is_terminal():
        yield _Lines().show
        return
    spinner = Spinner("dots")
    with Live(spinner, console=output.console(stderr=True), refresh_per_second=8, transient=True):

        def show(look: Progress) -> None:
            spinner.update(text=Text(progress_line(look)))

        yield show


def progress_line(look: Progress) -> str:
    """`training  step 5 of 14  loss 1.213  1.42 s a step  12.8 s left, 21.3 s so far`."""
    parts = [_WORDS[look.stage]]
    if look.steps_done:
        parts.append(f"step {look.steps_done} of {look.steps_wanted}")
    if look.last is not None and look.last.loss is not None:
        parts.append(f"loss {look.last.loss:.3f}")
    if look.last is not None and look.last.step_time_s is not None:
        parts.append(f"{units.seconds(look.last.step_time_s)} a step")
    if look.left_s and look.stage == "training":
        parts.append(f"{units.seconds(look.left_s)} left")
    return "  ".join(parts) + f", {units.seconds(look.elapsed_s)} so far"


class _Lines:
    """A line when the stage changes, and every so many steps."""

    def __init__(self) -> None:
        self._stage = ""
        self._shown = 0

    def show(self, look: Progress) -> None:
        """Prints the look if it is news."""
        every = max(1, look.steps_wanted // _LINES)
        is_last = look.steps_done == look.steps_wanted != self._shown
        if look.stage != self._stage or look.steps_done >= self._shown + every or is_last:
            self._stage, self._shown = look.stage, look.steps_done
            output.say(progress_line(look))
