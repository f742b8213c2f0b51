"""Every fault of a recipe's flags: those of `arguments`, and those that only the text of `run` has."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from openrecipes.catalog.arguments import Parser
from openrecipes.check.couplings import Effective, coupling_faults, default_faults
from openrecipes.check.flag_values import FlagFault, flag_faults
from openrecipes.check.invocation import Given, Invocation
from openrecipes.render.command import Command
from openrecipes.render.settings import Setting

# Naming the nearest of hundreds of flags takes a while; a text of nothing but unknown flags gets this many.
_GUESSES: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Flags:
    """The flags of one recipe: `arguments`, the words of `run`, the command that the fields give.

    Of `unknown` ones the fields say nothing, so that `command` lacks them whether they stand there or not.
    """

    parser: Parser
    settings: tuple[Setting, ...]
    run: Invocation | None
    command: Command | None
    loss_mask: str | None
    unknown: frozenset[str] = frozenset()


def argument_faults(flags: Flags) -> tuple[FlagFault, ...]:
    """All faults, each once: what `arguments` brings into `run` is told where it comes from."""
    found: dict[tuple[str, str], FlagFault] = {}
    for fault in (*_of_settings(flags), *_of_run(flags), *_of_couplings(flags)):
        found.setdefault((fault.flag, fault.rule), fault)
    return tuple(found.values())


def _of_settings(flags: Flags) -> Iterator[FlagFault]:
    unknown = 0
    for setting in flags.settings:
        for fault in flag_faults(flags.parser, setting.flag, setting.values, guesses=unknown < _GUESSES):
            unknown += fault.rule == "argument-unknown"
            if not (setting.is_left_out and fault.rule == "argument-count"):
                yield replace(fault, key=f"arguments.{setting.key}")


def _of_run(flags: Flags) -> Iterator[FlagFault]:
    if flags.run is None:
        return
    for word in flags.run.loose:
        what = f"{word.text[:80]} belongs to no flag, and the trainer would drop it in silence"
        mend = "remove it, or quote it with the value it belongs to"
        yield FlagFault(flag=word.text, rule="argument-count", what=what, mend=mend, line=word.line)
    unknown = 0
    for given in flags.run.given:
        if given.is_array:
            continue
        values = [None if word.is_open else word.text for word in given.values]
        for fault in flag_faults(flags.parser, given.flag, values, guesses=unknown < _GUESSES):
            unknown += fault.rule == "argument-unknown"
            yield replace(fault, line=given.line)
    yield from _repeated(flags.run.given)


def _repeated(given: Iterable[Given]) -> Iterator[FlagFault]:
    first: dict[str, Given] = {}
    for item in given:
        before = first.setdefault(item.flag, item)
        if before.texts != item.texts:
            what = f"{item} stands after {before}, and only the last counts"
            mend = "keep one of the two"
            yield FlagFault(flag=item.flag, rule="argument-repeated", what=what, mend=mend, line=item.line)


def _of_couplings(flags: Flags) -> Iterator[FlagFault]:
    """Couplings and defaults of the command that the fields give, then of the text of `run`."""
    made = flags.command.arguments if flags.command else ()
    by_fields = {argument.flag: argument.values for argument in made}
    if made:
        yield from _placed(flags, by_fields)
    if flags.run is not None:
        model = flags.command.model_arguments if flags.command and not flags.run.shows_all else ()
        in_run = {flag: given.texts for flag, given in flags.run.effective.items()}
        if model or flags.run.shows_all:
            yield from _placed(flags, {**{argument.flag: argument.values for argument in model}, **in_run})


def _placed(flags: Flags, effective: Effective) -> Iterator[FlagFault]:
    keys = {setting.flag: f"arguments.{setting.key}" for setting in flags.settings}
    lines = {flag: given.line for flag, given in flags.run.effective.items()} if flags.run else {}
    start = flags.run.head[0].line if flags.run else None
    known = flags.parser.by_flag.keys() - flags.unknown
    for fault in (
        *coupling_faults(effective, unknown=flags.unknown),
        *default_faults(effective, known=known, loss_mask=flags.loss_mask),
    ):
        if fault.flag in keys:
            yield replace(fault, key=keys[fault.flag])
        else:
            yield replace(fault, line=lines.get(fault.flag, start))
