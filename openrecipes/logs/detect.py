"""The log formats, and which of them a log is in."""

from collections.abc import Callable, Mapping

from openrecipes.logs.bridge import BridgeReader
from openrecipes.logs.megatron import MegatronReader
from openrecipes.logs.mllog import MllogReader
from openrecipes.logs.nemo import NemoReader
from openrecipes.logs.nemo_rl import NemoRlReader
from openrecipes.logs.reader import Reader
from openrecipes.logs.slime import SlimeReader
from openrecipes.logs.swift import SwiftReader
from openrecipes.logs.torchtitan import TorchtitanReader
from openrecipes.logs.verl import VerlReader
from openrecipes.problems import Place, Problem, UsageError, nearest

READERS: Mapping[str, Callable[[], Reader]] = {
    "slime": SlimeReader,
    "bridge": BridgeReader,
    "megatron": MegatronReader,
    "nemo": NemoReader,
    "mllog": MllogReader,
    "verl": VerlReader,
    "nemo-rl": NemoRlReader,
    "torchtitan": TorchtitanReader,
    "swift": SwiftReader,
}
"""By format name, in order of preference where two formats fit a log equally."""

ALIASES: Mapping[str, str] = {
    "miles": "slime",
    "megatron-lm": "megatron",
    "megatron-deepspeed": "megatron",
    "mindspeed": "megatron",
    "primus": "megatron",
    "nanotron": "megatron",
    "megatron-bridge": "bridge",
    "mlperf": "mllog",
    "ms-swift": "swift",
}
"""Trainers that print in the form of another."""


def readers(format_name: str | None) -> list[Reader]:
    """New readers: the named format's, or one of each.

    Raises: UsageError if there is no such format.
    """
    if format_name is None:
        return [new() for new in READERS.values()]
    name = ALIASES.get(format_name.lower(), format_name.lower())
    if name not in READERS:
        meant = nearest(name, (*READERS, *ALIASES))
        mend = f"did you mean {meant}? " if meant else ""
        raise UsageError(
            Problem(
                place=Place(key="--format"),
                rule="log-format",
                what=f"no log format is called {format_name}",
                mend=f"{mend}formats: {', '.join(READERS)}",
            )
        )
    return [READERS[name]()]
