"""The console script: finds the verb, runs it, and turns what it raises into an exit status."""

import contextlib
import gc
import importlib
import json
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import openrecipes
from openrecipes.problems import OutsideError, Place, Problem, ProblemsError, UsageError

# Verb, the module that defines it, one line for --help. A module is imported only when its verb runs,
# so that `--help` costs no more than typer itself.
VERBS: dict[str, tuple[str, str]] = {
    "check": ("check", "Lint recipes: schema, layout arithmetic, words, figures."),
    "plan": ("plan", "Plan memory: does a layout fit, and which layouts are legal."),
    "show": ("show", "Show one recipe for a person."),
    "rank": ("rank", "Show the leaderboard."),
    "site": ("site", "Build the leaderboard as a static site, or serve it."),
    "data": ("data", "Build, verify and show fixed-length SFT rows."),
    "render": ("render", "Print the command, or every file a launch would use."),
    "preflight": ("preflight", "Check every node before GPUs are spent."),
    "launch": ("launch", "Launch on a cluster, follow, attach again, stop."),
    "run": ("run", "Run a recipe: check, rows, render, launch, follow, score, write back."),
    "steps": ("steps", "Read per-step records from raw logs."),
    "score": ("score", "Score the steady window of a run."),
    "compare": ("compare", "Compare two recipes or runs: ratio, verdict, what could explain it."),
    "watch": ("watch", "Watch a run as it goes: step, score so far, first sign of trouble."),
    "diagnose": ("diagnose", "Find the first cause of a failed run."),
    "correctness": ("correctness", "Check that a fast run computes the right thing."),
    "new": ("new", "Make a new, unmeasured recipe from another one."),
    "bundle": ("bundle", "Pack everything behind a result into one file."),
    "verify": ("verify", "Derive every figure of a bundle again, and refuse what differs."),
    "model": ("model", "Show a model of the catalogue and its Megatron arguments."),
    "arguments": ("arguments", "Read the trainer's parser as data, or explain one of its flags."),
    "checkpoint": ("checkpoint", "Prepare or verify the Megatron checkpoint that a run starts from."),
    "env": ("env", "Show what is installed and loaded here."),
}


class _LazyVerbs(TyperGroup):
    """Lists verbs from the table; imports the one that is called."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        _bare_flags(self)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  (the base class's signature)
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        return TyperCommand(cmd_name, help=VERBS[cmd_name][1])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in VERBS:
            self.commands = {name: TyperCommand(name) for name in VERBS}  # for "Did you mean"
        name, command, rest = super().resolve_command(ctx, args)
        found = verb(name) if command is not None and name else command
        if not gc.isenabled():  # as the console script leaves it until all is loaded
            gc.freeze()
            gc.enable()
        return name, found, rest


def _bare_flags(command: Any) -> None:
    """Lets the help of a command, and of those below it, show no type at a flag, which takes no value."""
    given = command.get_params

    def params(ctx: Any) -> Any:
        found = given(ctx)
        for one in found:
            if getattr(one, "is_flag", False):
                one.metavar = ""
        return found

    command.get_params = params
    for below in getattr(command, "commands", {}).values():
        _bare_flags(below)


def verb(name: str) -> Any:
    """The verb's command, its module imported."""
    module = importlib.import_module(f"openrecipes.cli.{VERBS[name][0]}")
    command = typer.main.get_command(module.app)
    command.name = name
    _bare_flags(command)
    return command


def _version(value: bool) -> None:  # noqa: FBT001  (typer calls it with the option's value)
    if value:
        typer.echo(f"openrecipes {openrecipes.__version__}")
        raise typer.Exit


app = typer.Typer(cls=_LazyVerbs, no_args_is_help=True, add_completion=True, rich_markup_mode="rich")


@app.callback(epilog="Start with: openrecipes rank")
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Keep the traceback of a bug.")] = False,
) -> None:
    """Reproduce, measure and rank LLM training recipes, from one YAML file each."""


def main() -> None:
    """Run the console script; ends the process."""
    debug = "--debug" in sys.argv[1:]
    if debug:
        # It may stand anywhere; the verbs need not know it.
        sys.argv = [sys.argv[0], *(word for word in sys.argv[1:] if word != "--debug")]
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the caller closed it
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    try:
        status = _status(debug=debug)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) went away; leave quietly, and keep Python from flushing into nothing.
        sys.stdout = None
        status = 141
    except OSError as error:
        if debug:
            raise
        status = _unwritten(error)
    sys.exit(status)


def _status(*, debug: bool) -> int:
    """The exit status of the call, and what is wrong with it on the streams. Raises: OSError where these are full."""
    try:
        # What typer.Exit said; of a verb that ended by itself, None.
        status = app(standalone_mode=False, prog_name="openrecipes")
        return status if isinstance(status, int) else 0
    except typer.Abort:
        sys.stderr.write("aborted\n")
        return 1
    except ProblemsError as error:
        _print_problems(error)
        return error.exit_status
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    except BrokenPipeError:
        raise
    except Exception as error:
        from openrecipes.cli import usage  # noqa: PLC0415  (no right call needs it)

        if usage.is_bare_call(error):
            return UsageError.exit_status
        if usage.is_usage_error(error):
            _print_problems(UsageError(usage.usage_problem(error)))
            return UsageError.exit_status
        if debug or usage.is_full(error):
            raise
        sys.stderr.write(
            f"openrecipes: a bug: {type(error).__name__}: {error}\n"
            "  mend: run it again with --debug and report the traceback   [bug]\n"
        )
        return 1


def _unwritten(error: OSError) -> int:
    """The exit status where a stream or file could not take what was written; what it held is lost."""
    sys.stdout = None  # else Python writes the rest into it at the end, in vain
    what, mend = f"cannot write: {error.strerror or error}", "free space, or write elsewhere"
    with contextlib.suppress(OSError):
        _print_problems(
            OutsideError(
                Problem(place=Place(file=str(error.filename or "")), rule="write-failed", what=what, mend=mend)
            )
        )
    return OutsideError.exit_status


def _print_problems(error: ProblemsError) -> None:
    if "--json" in sys.argv[1:] and sys.stdout is not None:
        _print_json(error)
    for problem in error.problems:
        sys.stderr.write(f"{problem}\n")


def _print_json(error: ProblemsError) -> None:
    document = {**error.beside, "problems": [problem.document() for problem in error.problems]}
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
