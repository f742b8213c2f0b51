"""Every fault of a recipe's flags: those of `arguments`, and those that only the text of `run` has."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from openrecipes.catalog.arguments import ArgumentCatalogue
from openrecipes.check.couplings import Effective, coupling_faults, default_faults
from openrecipes.check.flag_values import Value, flag_faults
from openrecipes.check.invocation import Given, Invocation
from openrecipes.render.command import Command
from openrecipes.render.settings import Setting

# Naming the nearest of hundreds of flags takes a while; a text of nothing but unknown flags gets this many.
_GUESSES: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class ArgumentFault:
    """One fault: the flag, where it stands (a key, and in `run` the line from 0 within it), rule, what, mend."""

    flag: str
    key: str
    line: int | None
    rule: str
    what: str
    mend: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Flags:
    """The flags of one recipe: `arguments`, the words of `run`, the command that the fields give."""

    catalogue: ArgumentCatalogue
    settings: tuple[Setting, ...]
    run: Invocation | None
    command: Command | None
    loss_mask: str | None


def argument_faults(flags: Flags) -> tuple[ArgumentFault, ...]:
    """All faults, each once: what `arguments` brings into `run` is told where it comes from."""
    found: dict[tuple[str, str], ArgumentFault] = {}
    for fault in (*_of_settings(flags), *_of_run(flags), *_of_couplings(flags)):
        found.setdefault((fault.flag, fault.rule), fault)
    return tuple(found.values())


def _of_settings(flags: Flags) -> Iterator[ArgumentFault]:
    for setting in flags.settings:
        if setting.is_left_out:
            values: list[Value] | None = None
        else:
            values = [Value(text=text) for text in setting.values]
        for fault in flag_faults(flags.catalogue, setting.flag, values or []):
            if values is None and fault.rule == "argument-count":
                continue
            key = f"arguments.{setting.key}"
            yield ArgumentFault(
                flag=setting.flag, key=key, line=None, rule=fault.rule, what=fault.what, mend=fault.mend
            )


def _of_run(flags: Flags) -> Iterator[ArgumentFault]:
    if flags.run is None:
        return
    for word in flags.run.loose:
        what = f"{word.text[:80]} belongs to no flag, and the trainer would drop it in silence"
        yield _in_run(
            word.text, word.line, "argument-count", what, "remove it, or quote it with the value it belongs to"
        )
    unknown = 0
    for given in flags.run.given:
        if given.is_array:
            continue
        values = [Value(text=word.text, is_open=word.is_open) for word in given.values]
        for fault in flag_faults(flags.catalogue, given.flag, values, guesses=unknown < _GUESSES):
            unknown += fault.rule == "argument-unknown"
            yield _in_run(given.flag, given.line, fault.rule, fault.what, fault.mend)
    yield from _repeated(flags.run.given)


def _repeated(given: Iterable[Given]) -> Iterator[ArgumentFault]:
    first: dict[str, Given] = {}
    for item in given:
        before = first.setdefault(item.flag, item)
        if before.texts != item.texts:
            what = f"{item} stands after {before}, and only the last counts"
            yield _in_run(item.flag, item.line, "argument-repeated", what[:240], "keep one of the two")


def _of_couplings(flags: Flags) -> Iterator[ArgumentFault]:
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


def _placed(flags: Flags, effective: Effective) -> Iterator[ArgumentFault]:
    keys = {setting.flag: f"arguments.{setting.key}" for setting in flags.settings}
    lines = {flag: given.line for flag, given in flags.run.effective.items()} if flags.run else {}
    start = flags.run.head[0].line if flags.run else None
    for fault in (*coupling_faults(effective), *default_faults(effective, loss_mask=flags.loss_mask)):
        key = keys.get(fault.flag)
        line = None if key else lines.get(fault.flag, start)
        yield ArgumentFault(
            flag=fault.flag, key=key or "run", line=line, rule=fault.rule, what=fault.what, mend=fault.mend
        )


def _in_run(flag: str, line: int, rule: str, what: str, mend: str) -> ArgumentFault:
    return ArgumentFault(flag=flag, key="run", line=line, rule=rule, what=what, mend=mend)
