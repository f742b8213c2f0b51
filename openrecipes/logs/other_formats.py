"""Records in a format that is not the log's: they are left out, and it is told where the first stands."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from openrecipes.logs.step import StepRecord
from openrecipes.logs.stream import Found, LogStream
from openrecipes.problems import Place, Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class _Told:
    """The numbers of the steps that are used, and the lines from the first to the last of them."""

    steps: frozenset[int | None]
    first: int
    last: int

    def __contains__(self, step: StepRecord) -> bool:
        """Whether a step of another format stands among them, and is one of them in other words."""
        return self.first <= step.line <= self.last and step.step in self.steps


def left_out(streams: Iterable[LogStream], name: str | None) -> Iterator[Problem]:
    """A warning for each file and format of which steps were left out, since the run's are those of format `name`.

    Nothing is told of what another format reads from the same lines, nor where it tells the same steps among them.
    """
    for stream in streams:
        used = [step for found in stream.found if found.reader.name == name for step in found.steps]
        lines = {line for step in used for line in (step.line, step.timed_line)}
        told = (
            _Told(steps=frozenset(step.step for step in used), first=used[0].line, last=used[-1].line) if used else None
        )
        others = sorted(
            (found for found in _others(stream, name) if found.steps), key=lambda found: found.rank, reverse=True
        )
        for found in others:
            left = {step.line: step for step in found.steps if step.line not in lines and not (told and step in told)}
            lines |= left.keys()
            if left:
                yield _problem(stream.file, found.reader.name, tuple(left.values()), name or "", alone=not used)


def _others(stream: LogStream, name: str | None) -> Iterator[Found]:
    yield from (found for found in stream.found if found.reader.name != name)
    yield from stream.passed


def _problem(file: str, format_name: str, left: Sequence[StepRecord], name: str, *, alone: bool) -> Problem:
    first = min(left, key=lambda step: step.line)
    count = f"{len(left)} record{'' if len(left) == 1 else 's'} in the format {format_name}"
    what = f"{count} {'is' if len(left) == 1 else 'are'} not counted: the run's steps are in the format {name}"
    mend = "read this file alone: it is another run's" if alone else "cut the log into one file a run, and read one"
    return Problem(
        place=Place(file=file, line=first.line, key="" if first.step is None else f"step {first.step}"),
        rule="other-format",
        severity="warning",
        what=what,
        mend=f"{mend}; or name the format to be read with --format",
    )
