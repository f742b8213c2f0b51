"""Feeds command lines to slime's own parser on a machine without a GPU; test_real_parser.py runs it.

Reads a JSON list of {"argv": [...], "env": {...}} from stdin, writes a JSON list of
{"unknown": [...], "error": null | "...", "resolved": {...}} to stdout. Needs $SLIME_DIR, $MEGATRON_DIR (patched),
and torch and transformers.
"""

import argparse
import importlib.abc
import importlib.machinery
import io
import json
import multiprocessing
import os
import sys
from contextlib import redirect_stdout
from types import ModuleType, SimpleNamespace

# slime reads these with a parser of its own, before the one whose leftovers count.
READ_BEFORE = {"--debug-train-only", "--debug-rollout-only", "--load-debug-rollout-data", "--train-backend"}


# What slime's argument module imports and parsing never uses; replaced where it is not installed.
UNUSED = ["PIL", "einops", "httpx", "omegaconf", "ray", "requests", "sglang", "sglang_router", "six", "triton", "wandb"]


class Anything(type):
    """The type of stand-in classes: every attribute is another one."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in(name)


def stand_in(name):
    """A class that takes any arguments; its objects give back what they are called with, as decorators do."""
    called = {
        "__init__": lambda self, *args, **kwargs: None,
        "__call__": lambda self, *args, **kwargs: (*args, None)[0],
    }
    return Anything(name, (), called)


class StandIn(ModuleType):
    """A module in which every name is a class."""

    __path__ = ()
    __version__ = "0"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in(name)


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a stand-in for an unused module, and for whatever is below it."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in UNUSED:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


def answer(case, to_parent):
    """Parses one command line in a process of its own, since slime and Megatron keep global state."""
    leftovers = []
    parse = argparse.ArgumentParser.parse_known_args

    def listening(parser, *args, **kwargs):
        namespace, rest = parse(parser, *args, **kwargs)
        leftovers.append((len(parser._actions), rest))
        return namespace, rest

    argparse.ArgumentParser.parse_known_args = listening
    os.environ.update({"WORLD_SIZE": "1", **case["env"]})
    sys.argv = case["argv"]
    result = {"unknown": [], "error": None, "resolved": {}}
    said = io.StringIO()
    sys.stderr = said
    try:
        import megatron.core.utils
        from packaging.version import Version

        megatron.core.utils.get_te_version = lambda: Version("2.10.0")
        from megatron.training.arguments import core_transformer_config_from_args
        from slime.utils.arguments import parse_args

        args = parse_args()
        result["resolved"] = {name: plain(value) for name, value in vars(args).items()}
        # Both need Transformer Engine, which needs a GPU.
        args.apply_rope_fusion = args.moe_permute_fusion = False
        core_transformer_config_from_args(args)
    except BaseException as error:
        lines = said.getvalue().strip().splitlines()
        result["error"] = f"{type(error).__name__}: {error} {lines[-1] if lines else ''}"
    if leftovers:
        result["unknown"] = [word for word in max(leftovers)[1] if word.startswith("--") and word not in READ_BEFORE]
    to_parent.send(result)


def plain(value):
    return value if isinstance(value, int | float | str | list | None) else str(value)


def main():
    cases = json.load(sys.stdin)
    sys.path[:0] = [os.environ["SLIME_DIR"], os.environ["MEGATRON_DIR"]]
    sys.meta_path.append(StandIns())
    with redirect_stdout(sys.stderr):
        import torch

        torch.cuda.get_device_capability = lambda *_: (9, 0)
        torch.cuda.get_device_properties = lambda *_: SimpleNamespace(major=9, minor=0, multi_processor_count=132)
        import slime.utils.arguments  # noqa: F401

        context = multiprocessing.get_context("fork")
        results = []
        for case in cases:
            ours, theirs = context.Pipe(duplex=False)
            child = context.Process(target=answer, args=(case, theirs))
            child.start()
            theirs.close()
            try:
                results.append(ours.recv())
            except EOFError:
                results.append({"unknown": [], "error": "the parser's process died", "resolved": {}})
            child.join()
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
