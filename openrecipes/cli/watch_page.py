"""A watched run for people: a live page in 80 columns, or lines where nobody's terminal is."""

from collections.abc import Callable, Iterator
from statistics import median
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from openrecipes import units
from openrecipes.cli.diagnosis_page import finding_line
from openrecipes.cli.pictures import sparkline
from openrecipes.cli.watched_run import Look
from openrecipes.problems import Place, printable
from openrecipes.score.window import STEADY_LIMITS

_SHOWN_STEPS: Final = 40
_SILENT_S: Final = 60.0
_SLOW: Final = 0.05
# Without a terminal there are about so many lines a run, however long it is.
_LINES: Final = 50

_WAITING: Final = "it has failed, and its driver may still run and print more: watching on until it ends, or Ctrl-C"

Line = tuple[str, str, str]


def watch_page(look: Look) -> RenderableType:
    """The page: a headline, a table of figures, trouble and advice."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    for name, value, note in _lines(look):
        table.add_row(Text(name), Text(value), Text(printable(note)))
    return Group(Text(_title(look), style="bold"), table, *_trouble(look), *_advice(look))


def _title(look: Look) -> str:
    recipe = look.recipe
    name = f"{recipe.model} on {recipe.gpu.count} x {recipe.gpu.type}, {recipe.layout.label}" if recipe else "a run"
    return f"{name}: {look.diagnosis.outcome if look.has_ended or look.diagnosis.is_bad else _stage(look)}"


def _stage(look: Look) -> str:
    if not look.steps:
        return "no step yet"
    last = look.score.window
    number = look.steps[-1].step
    return "training" if last is None or number is None or number < last.first else "scoring"


def _lines(look: Look) -> Iterator[Line]:
    times = look.times_s
    last = look.steps[-1] if look.steps else None
    if last is not None:
        wanted = "" if look.steps_wanted is None else f"of {look.steps_wanted}"
        numbers = [f"{name} {value:.4g}" for name, value in (("loss", last.loss), ("grad norm", last.grad_norm))
                   if value is not None]  # fmt: skip
        yield (
            "step",
            "?" if last.step is None else str(last.step),
            ", ".join((*((wanted,) if wanted else ()), *numbers)),
        )
    if times:
        yield (
            "step time",
            f"{times[-1]:.3f} s",
            f"median {median(times):.3f} s over {units.counted(len(times), 'step')}",
        )
        # The first step pays for compilation: beside it all others would look alike.
        yield "", "", sparkline((times[1:] or times)[-_SHOWN_STEPS:], width=_SHOWN_STEPS)
    yield from _score(look)
    if look.slowest is not None:
        who, time_s, over = look.slowest
        note = f"{who}, {units.change(100 * over)} over the median" + (": look at its node" if over > _SLOW else "")
        yield "slowest rank", f"{time_s:.3f} s", note
    if look.silent_s > _SILENT_S and not look.has_ended:
        yield "silent for", units.seconds(look.silent_s), "the log has not grown"


def _score(look: Look) -> Iterator[Line]:
    running = look.score
    if running.window is not None:
        first, last = running.window.ends
        left = f", {units.seconds(running.left_s)} to its end" if running.left_s else ""
        note = f"{running.scored} of {units.counted(running.window.steps, 'step')} scored{left}"
        yield "window", f"{first}-{last}", note
    if running.tokens_per_s_per_gpu is not None:
        rate = f"{units.tokens_per_s_per_gpu(running.tokens_per_s_per_gpu):,.2f}"
        yield "tokens/s per GPU", rate, _published(look, running.tokens_per_s_per_gpu)
    if running.step_time_cv_percent is not None:
        limit = STEADY_LIMITS.step_time_cv_percent
        is_over = running.step_time_cv_percent > limit
        note = f"over the limit of {limit:g} %" if is_over else f"of at most {limit:g} %"
        yield "step-time CV", f"{running.step_time_cv_percent:.2f} %", note


def _published(look: Look, rate: float) -> str:
    published = look.recipe.result.tokens_per_s_per_gpu if look.recipe else None
    return f"recipe {published:,.2f}, {units.change(100 * (rate / published - 1))}" if published else ""


def _trouble(look: Look) -> Iterator[RenderableType]:
    if look.trouble is None:
        warnings = [other.name for other in look.diagnosis.others if other.kind == "warning"]
        yield Text(f"no sign of trouble{'; worth a look: ' + ', '.join(warnings) if warnings else ''}", style="dim")
        return
    place = Place(file=look.trouble.file, line=look.trouble.line)
    yield Text(f"first sign of trouble: {finding_line(look.trouble)}", style="bold red")
    yield Text(printable(f"  {place}: {look.trouble.text}"))
    yield Text(f"  mend: {look.trouble.remedy or look.trouble.trouble.remedy}")


def _advice(look: Look) -> Iterator[RenderableType]:
    if look.end:
        yield Text(look.end)
    elif look.diagnosis.outcome == "failed" and not look.has_ended:
        yield Text(_WAITING)
    for problem in look.score.lost[:3]:
        end = "it cannot be scored" if look.has_ended else "stop it: it can no longer be scored"
        yield Text(printable(f"{end}: {problem.what} [{problem.rule}]"), style="bold red")
    if look.score.unsteady and not look.score.lost:
        yield Text(f"scored only with --allow-unsteady: {look.score.unsteady}", style="yellow")


class WatchLines:
    """A line every so many steps, and one for each piece of news."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._shown = -1
        self._news: set[str] = set()

    def show(self, look: Look) -> None:
        """Says what is news about the run."""
        done = len(look.steps)
        every = max(1, (look.steps_wanted or 0) // _LINES)
        if done >= self._shown + every or (look.has_ended and done != self._shown):
            self._shown = done
            self._say(self._line(look))
        for text in _news(look):
            if text not in self._news:
                self._news.add(text)
                self._say(text)

    def _line(self, look: Look) -> str:
        if not look.steps:
            return "no step yet"
        last, running = look.steps[-1], look.score
        parts = [f"step {last.step}" + (f" of {look.steps_wanted}" if look.steps_wanted else "")]
        parts += [f"{last.step_time_s:.3f} s"] if last.step_time_s is not None else []
        parts += [f"loss {last.loss:.4f}"] if last.loss is not None else []
        if running.tokens_per_s_per_gpu is not None:
            parts.append(f"{units.tokens_per_s_per_gpu(running.tokens_per_s_per_gpu):,.2f} tokens/s per GPU")
        parts += [f"CV {running.step_time_cv_percent:.2f} %"] if running.step_time_cv_percent is not None else []
        parts += [f"{units.seconds(running.left_s)} left"] if running.left_s else []
        return ", ".join(parts)


def _news(look: Look) -> Iterator[str]:
    if look.trouble is not None:
        place = Place(file=look.trouble.file, line=look.trouble.line)
        yield printable(f"first sign of trouble: {finding_line(look.trouble)} ({place}): {look.trouble.text}")
    for problem in look.score.lost[:3]:
        yield printable(f"it can no longer be scored: {problem.what} [{problem.rule}]")
    if look.score.unsteady:
        yield f"scored only with --allow-unsteady: {look.score.unsteady}"
    if look.has_ended:
        yield f"ended: {look.diagnosis.outcome}" + (f", {look.end}" if look.end else "")
    elif look.diagnosis.outcome == "failed":
        yield _WAITING
