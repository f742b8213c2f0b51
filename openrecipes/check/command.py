"""Rules over the command: `run` as a shell reads it, and against the command that the fields give."""

import re
from collections.abc import Iterator
from typing import Final

from openrecipes.check.environment import exports
from openrecipes.check.invocation import Given
from openrecipes.check.rule import Finding, Rule, Section, rule
from openrecipes.check.shell_words import FaultKind
from openrecipes.check.subject import Subject
from openrecipes.render.argument import Argument
from openrecipes.render.command import start_of, text_of
from openrecipes.render.training_arguments import DEFAULT

# An origin that names recipe keys: `layout.tp`, `gpu.count / gpu.per_node`.
_KEYS: Final = re.compile(r"[a-z_]+(\.[a-z_]+)+( / [a-z_]+(\.[a-z_]+)+)?")
_SAYS: Final[dict[FaultKind, str]] = {
    "quotes": "every quote and bracket in run is closed.",
    "heredoc": "no here-document in run.",
    "operator": "run joins no commands and no files: no `;`, `&&`, `|`, `>`.",
    "substitution": "no program runs in the middle of the command.",
    "continuation": "every line of the command but the last ends in a backslash, with nothing after it.",
}


def _of_fault(kind: FaultKind) -> Rule:
    def find(subject: Subject) -> Iterator[Finding]:
        for fault in subject.script.faults:
            if fault.kind == kind:
                yield Finding(key="run", line=subject.run_line(fault.line), what=fault.what, mend=fault.mend)
        if kind == "continuation":
            yield from _cut_short(subject)

    says = _SAYS[kind]
    return Rule(id=f"command-{kind}", section=Section.COMMAND, says=says, severity="error", find=find)


def _cut_short(subject: Subject) -> Iterator[Finding]:
    """Lines of flags that belong to no command, since the line above has no backslash."""
    for words in subject.script.commands[1:]:
        if words[0].text.startswith("-") and not subject.script.faults:
            yield Finding(
                key="run",
                line=subject.run_line(words[0].line),
                what=f"{words[0].text} starts a command of its own",
                mend="end the line above in a backslash",
            )


FAULT_RULES: Final = tuple(_of_fault(kind) for kind in _SAYS)


@rule("command-one", Section.COMMAND, "run holds one command besides its exports.")
def one(subject: Subject) -> Iterator[Finding]:
    """No command, or several."""
    commands = subject.script.commands
    if not commands and not subject.script.faults:
        yield Finding(key="run", what="holds no command", mend="write what `openrecipes render` prints")
    others = [words for words in commands[1:] if not words[0].text.startswith("-")]
    for words in others[:3] if not subject.script.faults else ():
        yield Finding(
            key="run",
            line=subject.run_line(words[0].line),
            what=f"{words[0].text[:60]} is a second command",
            mend="remove it; what a node needs before the trainer belongs to the cluster profile",
        )


@rule("command-pattern", Section.COMMAND, "no bare *, ? or [ that names of files may replace.", "warning")
def pattern(subject: Subject) -> Iterator[Finding]:
    """A value that changes with the files of the folder the command is started in."""
    for words in subject.script.commands:
        for word in words:
            if word.is_pattern:
                yield Finding(
                    key="run",
                    line=subject.run_line(word.line),
                    what=f"{word.raw[:60]} is bare, so that a shell may put names of files in its place",
                    mend=f"quote it: '{word.text[:60]}'",
                )


@rule("command-entry", Section.COMMAND, "run starts the trainer of the recipe.")
def entry(subject: Subject) -> Iterator[Finding]:
    """Another program, or the same with other options."""
    words = subject.script.commands[0] if len(subject.script.commands) == 1 and not subject.script.faults else None
    of_gpus = subject.recipe.trainer == "smoke" and subject.is_unread("gpu.count")
    if subject.command is None or words is None or of_gpus:
        return
    found = subject.invocation
    head = " ".join(word.text for word in (found.head if found else words[:4]))
    wanted = start_of(subject.command)
    if head != wanted:
        yield Finding(
            key="run",
            line=subject.run_line(words[0].line),
            what=f"starts `{head[:120]}`, but the trainer {subject.recipe.trainer} is started by `{wanted}`",
            mend=f"write `{wanted}`",
        )


@rule("command-flag", Section.COMMAND, "each flag of run has the value that its field gives.")
def flag(subject: Subject) -> Iterator[Finding]:
    """A flag with another value than the page says."""
    for given, argument in _pairs(subject):
        if argument is not None and not _same(given, argument):
            yield Finding(
                key="run",
                line=subject.run_line(given.line),
                what=f"{str(given)[:160]}, but {_gives(argument)}",
                mend=f"write {' '.join(argument.argv)}{_or_change(argument)}",
            )


@rule("command-surplus", Section.COMMAND, "each flag of run comes from a field.")
def surplus(subject: Subject) -> Iterator[Finding]:
    """A flag that no field, no default and no entry of `arguments` gives."""
    for given, argument in _pairs(subject):
        if argument is None:
            key = given.flag.removeprefix("--").replace("-", "_")
            yield Finding(
                key="run",
                line=subject.run_line(given.line),
                what=f"{str(given)[:160]} comes from no field",
                mend=f"remove it, or set arguments.{key}",
            )


@rule("command-missing", Section.COMMAND, "run has each flag that the fields give.")
def missing(subject: Subject) -> Iterator[Finding]:
    """A flag that the fields give and run leaves out."""
    found, wanted = subject.invocation, _wanted(subject)
    if found is None or wanted is None:
        return
    line = subject.run_line(found.head[0].line)
    present = found.effective
    for name, argument in wanted.items():
        if name not in present and name not in subject.faulty_flags:
            yield Finding(
                key="run",
                line=line,
                what=f"lacks {name}: {_gives(argument)}",
                mend=f"add {' '.join(argument.argv)}{_or_change(argument)}",
            )


@rule("command-text", Section.COMMAND, "run is written as `openrecipes render` prints it.", "warning")
def text(subject: Subject) -> Iterator[Finding]:
    """The same command in other words or another order."""
    if subject.command is None or not subject.has_whole_command or subject.recipe.run == text_of(subject.command):
        return
    if subject.faulty_flags or any(any(other.problems(subject)) for other in (exports, pattern, entry)):
        return
    found, wanted = subject.invocation, _wanted(subject)
    if found is None or wanted is None or found.effective.keys() != wanted.keys():
        return
    if any(argument is None or not _same(given, argument) for given, argument in _pairs(subject)):
        return
    derived, own = text_of(subject.command).splitlines(), subject.recipe.run.splitlines()
    index = next((i for i, (a, b) in enumerate(zip(own, derived, strict=False)) if a != b), min(len(own), len(derived)))
    yield Finding(
        key="run",
        line=subject.run_line(min(index, max(len(own) - 1, 0))),
        what="says what the fields give, but in other words or another order from this line on",
        mend="write what `openrecipes render` prints",
    )


def _wanted(subject: Subject) -> dict[str, Argument] | None:
    """Each flag that the fields give; MODEL_ARGS as one where run has it so."""
    if subject.command is None or subject.invocation is None:
        return None
    wanted: dict[str, Argument] = {}
    for line in subject.command.lines:
        if line.stands_for and line.stands_for in subject.invocation.effective:
            wanted[line.stands_for] = Argument(flag=line.stands_for, origin="model")
        else:
            wanted |= {argument.flag: argument for argument in line.arguments}
    return wanted


def _pairs(subject: Subject) -> Iterator[tuple[Given, Argument | None]]:
    """Each flag of run, as the trainer takes it, with what the fields give; those with faults of their own not."""
    wanted = _wanted(subject)
    if wanted is None or subject.invocation is None:
        return
    for name, given in subject.invocation.effective.items():
        if name not in subject.faulty_flags and name not in subject.unknown_flags:
            yield given, wanted.get(name)


def _same(given: Given, argument: Argument) -> bool:
    if len(given.values) != len(argument.values):
        return False
    return all(map(_equal, given.texts, argument.values))


def _equal(one: str, other: str) -> bool:
    """Equal as text, as a variable's name, or as numbers."""
    if one == other or one.replace("{", "").replace("}", "") == other:
        return True
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def _gives(argument: Argument) -> str:
    """Where the wanted value comes from, as the second half of a sentence."""
    wanted = " ".join(argument.values) or "it without a value"
    if argument.origin == DEFAULT:
        return f"the published default is {wanted}"
    if _KEYS.fullmatch(argument.origin):
        return f"{argument.origin} gives {wanted}"
    return f"the command has {wanted} ({argument.origin})"


def _or_change(argument: Argument) -> str:
    if argument.origin == DEFAULT:
        return f", or set arguments.{argument.flag.removeprefix('--').replace('-', '_')}"
    return f", or change {argument.origin}" if _KEYS.fullmatch(argument.origin) else ""
