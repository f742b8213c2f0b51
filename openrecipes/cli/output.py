"""The only place that prints: results to stdout, everything else to stderr."""

import json
import math
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from openrecipes.problems import Problem, ProblemsError, printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment


def console(*, stderr: bool = False) -> "Console":
    """A rich console that colours only a terminal, honours NO_COLOR, and never wraps piped text."""
    from rich.console import Console  # noqa: PLC0415  (rich is slow to import; `--json` needs none of it)

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, soft_wrap=not stream.isatty(), emoji=False, markup=False)


def is_terminal() -> bool:
    """Whether a person watches both streams: only then are there live lines and progress bars."""
    return sys.stdout.isatty() and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def result(document: Any, *, as_json: bool, text: "str | RenderableType | None" = None) -> None:
    """The verb's result: one JSON document, or `text` for people."""
    if as_json:
        line(json.dumps(_strict(document), indent=2, ensure_ascii=False, allow_nan=False))
    elif isinstance(text, str):
        sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")
    elif text is not None:
        _print(console(), text)


class _Harmless:
    """A page in which control characters stand as escapes: it holds what recipes and logs say."""

    def __init__(self, page: "RenderableType") -> None:
        self._page = page

    def __rich_console__(self, to: "Console", options: "ConsoleOptions") -> "Iterator[Segment]":
        for segment in to.render(self._page, options):
            shown = "\n".join(map(printable, segment.text.split("\n")))
            yield segment if segment.control else segment._replace(text=shown)


def _print(to: "Console", text: "RenderableType") -> None:
    """A table as it is on a terminal; elsewhere without the blanks that fill its lines."""
    if to.is_terminal:
        to.print(_Harmless(text))
        return
    with to.capture() as captured:
        to.print(_Harmless(text))
    for written in captured.get().splitlines():
        line(written.rstrip())


def line(text: str) -> None:
    """One line of a result that comes bit by bit, on stdout."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def say(message: str) -> None:
    """A message for people, on stderr."""
    sys.stderr.write(message + "\n")
    sys.stderr.flush()


@contextmanager
def refusal_with(**keys: object) -> Iterator[None]:
    """Lets a refusal out with these keys in its JSON, for a verb whose document has them whatever comes."""
    try:
        yield
    except ProblemsError as error:
        error.beside = keys
        raise


def problems(found: Iterable[Problem]) -> None:
    """Problems in their two-line form, on stderr."""
    for problem in found:
        say(str(problem))


def _strict(value: Any) -> Any:
    """The value with non-finite numbers as text: JSON has no word for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, dict):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return value
