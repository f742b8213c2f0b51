"""Prints the trainer's own command-line parser as JSON; run by the trainer's Python, needs nothing of openrecipes.

Reads $SLIME_DIR and $MEGATRON_DIR (slime's patch applied), needs torch, numpy and transformers, and no GPU.
slime builds its parser and is stopped before it parses anything. The JSON on stdout is a list of
{"flags", "dest", "action", "type", "enum", "nargs", "choices", "default", "required", "help", "defined_by"}.
"""

import argparse
import enum
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
from contextlib import redirect_stdout
from types import ModuleType, SimpleNamespace
from typing import Any

# Imported on the way to the parser, and of no use to it. sglang is replaced even where it is installed: its own
# flags belong to a parser of its own. The others are replaced only where they are missing.
ALWAYS_REPLACED = {"sglang", "sglang_router"}
REPLACED_IF_MISSING = {"PIL", "einops", "httpx", "omegaconf", "ray", "requests", "six", "triton", "wandb"}
# A flag that only the parser of the training run has.
LANDMARK = "--tensor-model-parallel-size"


class Built(BaseException):
    """Ends the trainer's start once its parser is complete; no handler of `Exception` on the way may keep it."""

    def __init__(self, parsers: list[argparse.ArgumentParser]) -> None:
        super().__init__()
        self.parsers = parsers


class Anything(type):
    """The type of inert classes: every attribute is another one."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return inert(name)


def inert(name: str) -> Any:
    """A class that takes anything; its objects give back what they are called with, as decorators do."""

    def construct(_self: Any, *_args: Any, **_options: Any) -> None:
        return None

    def call(_self: Any, *args: Any, **_options: Any) -> Any:
        return args[0] if args else None

    return Anything(name, (), {"__init__": construct, "__call__": call})


class InertModule(ModuleType):
    """A module in which every name is an inert class."""

    __path__: list[str] = []  # noqa: RUF012  (the import system reads it as an attribute)
    __version__ = "0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return inert(name)


class InertModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds an inert module for each of `names`, and for whatever is below it."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        if fullname.partition(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> ModuleType:
        return InertModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """An inert module has nothing to run."""


def listen(folders: dict[str, str]) -> None:
    """Notes on every argument which folder's code added it; raises Built when the whole parser is about to parse."""
    add = argparse._ActionsContainer.add_argument
    parse = argparse.ArgumentParser.parse_known_args
    parsers: list[argparse.ArgumentParser] = []

    def noting(container: Any, *names: Any, **options: Any) -> argparse.Action:
        action = add(container, *names, **options)
        if not hasattr(action, "defined_by"):
            action.defined_by = _caller(folders)  # type: ignore[attr-defined]
        return action

    def stopping(parser: argparse.ArgumentParser, *args: Any, **options: Any) -> Any:
        if _caller(folders) is not None:
            parsers.append(parser)
        if any(LANDMARK in action.option_strings for action in parser._actions):
            raise Built(parsers)
        return parse(parser, *args, **options)

    argparse._ActionsContainer.add_argument = noting  # type: ignore[method-assign,assignment]
    argparse.ArgumentParser.parse_known_args = stopping  # type: ignore[method-assign,assignment]


def _caller(folders: dict[str, str]) -> str | None:
    frame = sys._getframe(2)
    while frame is not None:
        for name, folder in folders.items():
            if os.path.realpath(frame.f_code.co_filename).startswith(folder + os.sep):
                return name
        frame = frame.f_back  # type: ignore[assignment]
    return None


def parsers_of(slime: str, megatron: str) -> list[argparse.ArgumentParser]:
    """What slime parses for a training run: a few flags of its own first, then the whole parser."""
    sys.path[:0] = [slime, megatron]
    missing = {name for name in REPLACED_IF_MISSING if importlib.util.find_spec(name) is None}
    sys.meta_path.insert(0, InertModules(ALWAYS_REPLACED | missing))
    torch: Any = importlib.import_module("torch")
    # Asked for on import; there need not be a GPU.
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    torch.cuda.get_device_properties = lambda *_: SimpleNamespace(major=9, minor=0, multi_processor_count=132)
    # --debug-train-only leaves the rollout engine's parser out.
    sys.argv = ["train_async.py", "--debug-train-only"]
    listen({"slime": slime, "megatron": megatron})
    try:
        importlib.import_module("slime.utils.arguments").parse_args()
    except Built as built:
        return built.parsers
    raise SystemExit(f"slime never built a parser with {LANDMARK}")


def described(action: Any, parser: argparse.ArgumentParser) -> dict[str, Any]:
    """One argument as plain data; a member of an enumeration is its name."""
    default = parser.get_default(action.dest) if action.dest in parser._defaults else action.default
    choices = None if action.choices is None else list(action.choices)
    return {
        "flags": list(action.option_strings),
        "dest": action.dest,
        "action": type(action).__name__,
        "type": None if action.type is None else getattr(action.type, "__qualname__", type(action.type).__name__),
        "enum": any(isinstance(value, enum.Enum) for value in [action.default, *(choices or [])]),
        "nargs": action.nargs,
        "choices": None if choices is None else [plain(choice) for choice in choices],
        "default": plain(default),
        "required": action.required,
        "help": None if action.help in (None, argparse.SUPPRESS) else str(action.help),
        "defined_by": action.defined_by,
    }


def plain(value: Any) -> Any:
    """The value as JSON has it."""
    if isinstance(value, enum.Enum):
        return value.name
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    return str(value)


def main() -> None:
    """Print the parser."""
    slime, megatron = (os.path.realpath(os.environ[name]) for name in ("SLIME_DIR", "MEGATRON_DIR"))
    with redirect_stdout(sys.stderr):
        parsers = parsers_of(slime, megatron)
    found = {
        tuple(action.option_strings): described(action, parser)
        for parser in parsers
        for action in parser._actions
        if action.option_strings and action.dest != "help"
    }
    json.dump(list(found.values()), sys.stdout)


if __name__ == "__main__":
    main()
