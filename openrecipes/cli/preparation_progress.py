"""A preparation that goes on, for people: one live line on a terminal, a plain line at each piece of news elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from openrecipes import units
from openrecipes.cli import output
from openrecipes.problems import printable
from openrecipes.targets.follow import Progress


@contextmanager
def preparation_progress() -> Iterator[Callable[[Progress], None]]:
    """What takes each look at a preparation, while the block lasts."""
    if not output.is_terminal():
        yield _Lines().show
        return
    spinner = Spinner("dots")
    with Live(spinner, console=output.console(stderr=True), refresh_per_second=8, transient=True):

        def show(look: Progress) -> None:
            spinner.update(text=Text(f"{words(look)}  [{units.seconds(look.elapsed_s)}]"))

        yield show


def words(look: Progress) -> str:
    """`queued  job 17 pending: Resources`, `writing 12.3 GiB of about 738.3 GiB (1%), …`, `starting`."""
    stage, detail = look.stage if look.stage in ("queued", "ended") else "", printable(look.detail)
    return "  ".join(part for part in (stage, detail) if part) or "starting"


class _Lines:
    """A line whenever what is said changes; the job itself says something new ever more rarely."""

    def __init__(self) -> None:
        self._said = ""

    def show(self, look: Progress) -> None:
        """Prints the look if it is news."""
        now = words(look)
        if now != self._said and look.stage != "ended":
            self._said = now
            output.say(now)
