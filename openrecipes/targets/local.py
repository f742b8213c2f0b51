"""This machine as a target: one script that runs the recipe here and records how it went."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from openrecipes.catalog.models import hf_config
from openrecipes.layouts.degrees import nodes
from openrecipes.problems import Place, Problem
from openrecipes.render.argument import Argument
from openrecipes.runs.json_files import json_text
from openrecipes.stack import capture
from openrecipes.targets.probes import node_value, shell_refusals
from openrecipes.targets.target import Launch, Rendered, RenderedFile
from openrecipes.targets.templates import ShellText, program, shell_script

# Time that programs have to end by themselves after TERM, before KILL.
GRACE_S: Final = 15
ENTRY: Final = "launch.sh"

# Every line is written at once and each rank's lines stay: a log that is read later must hold them all.
LOG_SETTINGS: Final = {"PYTHONUNBUFFERED": "1"}
RAY_SETTINGS: Final = {"RAY_DEDUP_LOGS": "0", "RAY_COLOR_PREFIX": "0"}


class LocalTarget:
    """Runs a recipe of one node on this machine: the smoke trainer under torchrun, slime on a Ray of one node."""

    @property
    def name(self) -> str:
        """`local`."""
        return "local"

    def refusals(self, launch: Launch) -> Iterator[Problem]:
        """A recipe of several nodes, a path that the trainer needs and the profile lacks, a recipe's own commands."""
        gpus = launch.recipe.gpu
        needed = nodes(gpus.count, gpus.per_node)
        if needed > 1:
            yield Problem(
                place=Place(key="gpu.count"),
                rule="target-nodes",
                what=f"{gpus.count} x {gpus.type}, {gpus.per_node} per node, are {needed} nodes; a local run has one",
                mend=f"launch it on a cluster of {needed} nodes, or run a recipe of one node",
            )
        else:
            yield from _missing_paths(launch)
        yield from shell_refusals(launch.shell_values, allowed=launch.allow_shell_env)

    def render(self, launch: Launch) -> Rendered:
        """The script, the capture of the environment, and what the trainer needs beside it."""
        values = script_values(launch)
        gpus = launch.recipe.gpu.count
        if launch.recipe.trainer == "smoke":
            script = shell_script("local_torchrun.sh.j2", ranks=gpus, **values)
            beside: tuple[RenderedFile, ...] = (
                RenderedFile(path="smoke_sft.py", text=program("smoke_sft.py")),
                RenderedFile(path="model/config.json", text=json_text(hf_config(launch.model))),
            )
        else:
            script = shell_script("local_ray.sh.j2", gpus=gpus, join_seconds=launch.profile.join_seconds, **values)
            names = ("pretokenized_sft_rollout.py", "ray_cluster.py")
            beside = tuple(RenderedFile(path=name, text=program(name)) for name in names)
        files = (
            RenderedFile(path=ENTRY, text=script, executable=True),
            RenderedFile(path="capture_environment.py", text=capture.source_text()),
            *beside,
        )
        return Rendered(files=files, entry=ENTRY)


def _missing_paths(launch: Launch) -> Iterator[Problem]:
    """What slime needs and nothing here can make: checkouts and checkpoints."""
    if launch.recipe.trainer == "smoke":
        return
    named = {value for argument in launch.command.arguments if argument.is_variable for value in argument.values}
    needed = {
        "slime": True,
        "megatron": True,
        "hf_checkpoint": "$HF_CKPT" in named,
        "torch_dist": "$TORCH_DIST" in named,
    }
    for name, is_needed in needed.items():
        if is_needed and getattr(launch.profile.paths, name) is None:
            yield Problem(
                place=Place(file=launch.profile.title, key=f"paths.{name}"),
                rule="target-paths",
                what=f"slime needs it, and {launch.profile.title} does not say where it is",
                mend=f"write paths.{name} into a cluster profile, and name that with --cluster",
            )


def script_values(launch: Launch) -> dict[str, Any]:
    """What the script's template takes: everything but what its trainer alone needs."""
    literals = {v.name: v.value for v in launch.command.environment if v.kind == "literal"}
    names = tuple(value.name for value in launch.command.environment)
    settings = LOG_SETTINGS if launch.recipe.trainer == "smoke" else LOG_SETTINGS | RAY_SETTINGS
    return {
        "kept_variables": launch.profile.kept_variables,
        "grace_seconds": GRACE_S,
        "literal_environment": tuple({**settings, **_checkouts(launch), **literals}.items()),
        "node_values": tuple(node_value(value) for value in launch.shell_values),
        "recorded_variables": tuple(dict.fromkeys((*settings, *names))),
        "variables": (*_checkouts(launch).items(), *variables(launch)),
        "python_path": _python_path(launch, literals),
        "argument_words": tuple(argument_words(a) for a in launch.command.arguments),
        "python": launch.profile.python,
        "entry": launch.command.entry,
    }


def _checkouts(launch: Launch) -> dict[str, str]:
    paths = launch.profile.paths
    found = {"SLIME_DIR": paths.slime, "MEGATRON_DIR": paths.megatron}
    return {name: path for name, path in found.items() if path is not None and launch.recipe.trainer == "slime"}


def _python_path(launch: Launch, literals: Mapping[str, str]) -> tuple[str, ...]:
    """Where slime's processes find the rollout function, Megatron and slime; then what the recipe adds itself."""
    if launch.recipe.trainer == "smoke":
        return ()
    own = (ShellText('"$here"'), ShellText('"$MEGATRON_DIR"'), ShellText('"$SLIME_DIR"'))
    return (*own, literals["PYTHONPATH"]) if "PYTHONPATH" in literals else own


def variables(launch: Launch) -> Iterator[tuple[str, str]]:
    """The shell variables that arguments name, with what each is on this target."""
    paths = launch.profile.paths
    defined = {
        "HF_CKPT": paths.hf_checkpoint or ShellText('"$here/model"'),
        "TORCH_DIST": paths.torch_dist or "",
        "SFT_DATA": launch.sft_data or paths.sft_data or ShellText('"$RUN_DIR/data/rows.parquet"'),
    }
    named = {value for argument in launch.command.arguments if argument.is_variable for value in argument.values}
    yield from ((name, value) for name, value in defined.items() if f"${name}" in named)


def argument_words(argument: Argument) -> tuple[str, ...]:
    """An argument as shell words: literals still to be quoted, a variable as shell text."""
    if not argument.is_variable:
        return argument.argv
    return (argument.flag, *(ShellText(f'"{value}"') for value in argument.values))
