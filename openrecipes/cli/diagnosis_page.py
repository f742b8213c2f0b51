"""A diagnosis for people: the outcome, its cause with place and remedy, then what else there was."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from openrecipes.cli.columns import hanging
from openrecipes.diagnosis.diagnose import Diagnosis
from openrecipes.diagnosis.findings import Finding
from openrecipes.problems import Place, printable

_STYLE = {"completed": "bold green", "failed": "bold red", "invalid": "bold red", "incomplete": "bold yellow"}
_WORDS = {
    "completed": "the run took its steps and ended well",
    "incomplete": "a part of a run, or one that was stopped from outside",
    "running": "the run goes on, without a sign of trouble that ended it",
}
_NOTHING = (
    "no step record of any known format, no arguments of a trainer and no sign of trouble: "
    "name the log that the trainer wrote"
)


def diagnosis_page(found: Diagnosis) -> RenderableType:
    """The diagnosis in 80 columns."""
    head = Text.assemble((found.outcome, _STYLE.get(found.outcome, "bold")), f", {_steps(found)}")
    parts: list[RenderableType] = [head]
    if found.cause is not None:
        parts += list(_cause(found.cause))
    elif found.holds_nothing:
        parts.append(Text(_NOTHING))
    elif found.outcome in _WORDS:
        parts.append(Text(_WORDS[found.outcome]))
    if found.others:
        parts += [Text(), Text("also in the log, the earliest first:", style="bold")]
        parts += [_short(other) for other in found.others]
    return Group(*parts)


def finding_line(finding: Finding) -> str:
    """`rank 3 on 10.0.0.1: cuda_oom: a GPU ran out of memory`, without what is not known."""
    who = origin_words(finding)
    return f"{who}: {finding.name}: {finding.trouble.means}" if who else f"{finding.name}: {finding.trouble.means}"


def origin_words(finding: Finding) -> str:
    """`rank 3 on 10.0.0.1, process 61220`, without what is not known."""
    place = finding.origin
    words = [] if place.rank is None else [f"rank {place.rank}"]
    words += [f"on {printable(place.node)}"] if place.node else []
    process = "" if place.pid is None else f"process {place.pid}"
    return ", ".join(part for part in (" ".join(words), process) if part)


def _steps(found: Diagnosis) -> str:
    count = f"{found.steps_done} step{'' if found.steps_done == 1 else 's'}"
    return f"{count} in the log" if found.steps_wanted is None else f"{count} of {found.steps_wanted} in the log"


def _cause(cause: Finding) -> Iterator[RenderableType]:
    yield _headed(cause.name, f": {cause.trouble.means}")
    if origin_words(cause):
        yield Text(hanging(origin_words(cause)))
    yield Text(hanging(f"{_place(cause)}{cause.text}", first="  ", rest="    "))
    yield _headed("mend:", f" {cause.remedy or cause.trouble.remedy}")


def _headed(head: str, text: str) -> Text:
    found = Text(hanging(f"{head}{text}"))
    found.stylize("bold", 0, len(head))
    return found


def _short(other: Finding) -> RenderableType:
    return Text(hanging(f"{_place(other)}{finding_line(other)}", first="  ", rest="    "))


def _place(finding: Finding) -> str:
    place = str(Place(file=finding.file, line=finding.line))
    return f"{place}: " if place else ""
