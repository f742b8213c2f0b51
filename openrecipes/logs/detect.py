"""The log formats, and which of them a log is in."""

from collections.abc import Callable, Mapping

from openrecipes.logs.megatron import MegatronReader
from openrecipes.logs.reader import Reader
from openrecipes.logs.slime import SlimeReader
from openrecipes.problems import Place, Problem, UsageError, nearest

READERS: Mapping[str, Callable[[], Reader]] = {"slime": SlimeReader, "megatron": MegatronReader}
"""By format name, in order of preference where two formats fit a log equally."""


def readers(format_name: str | None) -> list[Reader]:
    """New readers: the named format's, or one of each.

    Raises: UsageError if there is no such format.
    """
    if format_name is None:
        return [new() for new in READERS.values()]
    if format_name not in READERS:
        meant = nearest(format_name, READERS)
        mend = f"did you mean {meant}? " if meant else ""
        raise UsageError(
            Problem(
                place=Place(key="--format"),
                rule="log-format",
                what=f"no log format is called {format_name}",
                mend=f"{mend}formats: {', '.join(READERS)}",
            )
        )
    return [READERS[format_name]()]
