"""A run's log, read: what format it is in, one record a step, and what is wrong with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from openrecipes.logs import detect
from openrecipes.logs.merge import merged
from openrecipes.logs.other_formats import left_out
from openrecipes.logs.sources import damage, log_files, opened
from openrecipes.logs.step import StepRecord
from openrecipes.logs.stream import LogStream, problems_of
from openrecipes.problems import Place, Problem, in_order


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLog:
    """What the raw logs of one run say.

    `format` is None where no step was found. `steps` are in the log's order, restarts one after another.
    `arguments` are the trainer's own, from its dump, as printed. `first_stamp_s` and `last_stamp_s` are the
    log's own first and last time, in seconds, counted as if its clock were UTC.
    """

    format: str | None
    steps: tuple[StepRecord, ...]
    problems: tuple[Problem, ...]
    arguments: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    first_stamp_s: float | None = None
    last_stamp_s: float | None = None

    @property
    def attempts(self) -> tuple[tuple[StepRecord, ...], ...]:
        """The steps of each attempt: a log whose step numbers begin again holds several."""
        by_attempt: dict[int, list[StepRecord]] = {}
        for step in self.steps:
            by_attempt.setdefault(step.attempt, []).append(step)
        return tuple(tuple(steps) for steps in by_attempt.values())


def read_log(sources: Sequence[str | Path], *, format: str | None = None) -> RunLog:  # noqa: A002
    """The log of one run: files, directories of files, run directories, `-` for standard input.

    Memory does not grow with the size of the logs, only with the number of their steps.
    Raises: UsageError for a file that cannot be read and for an unknown format.
    """
    detect.readers(format)
    files = log_files(sources)
    damaged: list[Problem] = []
    streams = [_read(file, format, damaged) for file in files]
    name = _format(streams)
    chosen = [found for stream in streams for found in stream.found if found.reader.name == name]
    arguments = MappingProxyType(next((stream.dump.values for stream in streams if stream.dump.values), {}))
    averages = any(found.reader.averages_over_interval for found in chosen)
    steps, told = merged((found.steps for found in chosen), arguments, averages=averages)
    problems = [*damaged, *told, *left_out(streams, name)]
    problems.extend(problem for found in chosen for problem in problems_of(found))
    if not steps:
        problems.extend(_nothing(streams))
    firsts = [stream.first_stamp_s for stream in streams if stream.first_stamp_s is not None]
    lasts = [stream.last_stamp_s for stream in streams if stream.last_stamp_s is not None]
    return RunLog(
        format=name if steps else None,
        steps=steps,
        problems=in_order(problems),
        arguments=arguments,
        files=files,
        first_stamp_s=min(firsts, default=None),
        last_stamp_s=max(lasts, default=None),
    )


def _read(file: str, format_name: str | None, damaged: list[Problem]) -> LogStream:
    stream = LogStream(file, detect.readers(format_name))
    with opened(file) as source:
        try:
            stream.read_from(source)
        except Exception as error:
            reason = damage(error)
            if reason is None:
                raise
            damaged.append(
                Problem(
                    place=Place(file=file),
                    rule="log-damaged",
                    severity="warning",
                    what=f"{reason}, after {stream.bytes_read} bytes of text",
                    mend="copy the file again; what came before was read",
                )
            )
    stream.close()
    return stream


def _format(streams: Sequence[LogStream]) -> str | None:
    """The format with the most timed steps over all files, then with the most steps."""
    totals: dict[str, tuple[int, int, int]] = {}
    for stream in streams:
        for found in stream.found:
            timed, steps, marked = totals.get(found.reader.name, (0, 0, 0))
            rank = found.rank
            totals[found.reader.name] = (timed + rank[0], steps + rank[1], max(marked, rank[2]))
    return max(totals, key=lambda name: totals[name], default=None)


def _nothing(streams: Sequence[LogStream]) -> Iterator[Problem]:
    """Why there is no step, file by file."""
    for stream in streams:
        if stream.bytes_read == 0:
            rule, what, mend = "log-empty", "the file is empty", "name the log that the trainer wrote"
        elif not stream.holds_text:
            rule, what, mend = "log-binary", "the file is not text", "name the log that the trainer wrote"
        else:
            formats = ", ".join(found.reader.name for found in stream.found)
            rule, what = "no-steps", f"no step record of any known format in {stream.bytes_read} bytes ({formats})"
            mend = "ask openrecipes diagnose why the run has no step, or name the log of the node that prints them"
        yield Problem(place=Place(file=stream.file), rule=rule, what=what, mend=mend)
