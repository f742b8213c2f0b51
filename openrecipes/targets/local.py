"""This machine as a target: one script that runs the recipe here and records how it went."""

from collections.abc import Iterator
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


class LocalTarget:
    """Runs a recipe of one node on this machine: the smoke trainer under torchrun."""

    name = "local"

    def refusals(self, launch: Launch) -> Iterator[Problem]:
        """A recipe of several nodes, a trainer that cannot start here, and commands in its environment."""
        gpus = launch.recipe.gpu
        needed = nodes(gpus.count, gpus.per_node)
        if needed > 1:
            yield Problem(
                place=Place(key="gpu.count"),
                rule="target-nodes",
                what=f"{gpus.count} x {gpus.type}, {gpus.per_node} per node, are {needed} nodes; a local run has one",
                mend=f"launch it on a cluster of {needed} nodes, or run a recipe of one node",
            )
        yield from shell_refusals(launch.shell_values, allowed=launch.allow_shell_env)

    def render(self, launch: Launch) -> Rendered:
        """The script, the trainer, the model's shape, and the capture of the environment."""
        values = script_values(launch)
        script = shell_script("local_torchrun.sh.j2", ranks=launch.recipe.gpu.count, **values)
        config = json_text(hf_config(launch.model))
        files = (
            RenderedFile(path=ENTRY, text=script, executable=True),
            RenderedFile(path="capture_environment.py", text=capture.source_text()),
            RenderedFile(path="smoke_sft.py", text=program("smoke_sft.py")),
            RenderedFile(path="model/config.json", text=config),
        )
        return Rendered(files=files, entry=ENTRY)


def script_values(launch: Launch) -> dict[str, Any]:
    """What the script's template takes: everything but what its trainer alone needs."""
    literals = {v.name: v.value for v in launch.command.environment if v.kind == "literal"}
    names = tuple(value.name for value in launch.command.environment)
    return {
        "kept_variables": launch.profile.kept_variables,
        "grace_seconds": GRACE_S,
        "literal_environment": tuple({**LOG_SETTINGS, **literals}.items()),
        "node_values": tuple(node_value(value) for value in launch.shell_values),
        "recorded_variables": tuple(dict.fromkeys((*LOG_SETTINGS, *names))),
        "variables": tuple(variables(launch)),
        "argument_words": tuple(argument_words(a) for a in launch.command.arguments),
        "python": launch.profile.python,
        "entry": launch.command.entry,
    }


def variables(launch: Launch) -> Iterator[tuple[str, str]]:
    """The shell variables that arguments name, with what each is on this target."""
    defined = {
        "HF_CKPT": launch.profile.paths.hf_checkpoint or ShellText('"$here/model"'),
        "TORCH_DIST": launch.profile.paths.torch_dist,
        "SFT_DATA": launch.sft_data or launch.profile.paths.sft_data or ShellText('"$RUN_DIR/data/rows.parquet"'),
    }
    named = {value for argument in launch.command.arguments if argument.is_variable for value in argument.values}
    for name, value in defined.items():
        if f"${name}" in named:
            assert value is not None, name  # refused before
            yield name, value


def argument_words(argument: Argument) -> tuple[str, ...]:
    """An argument as shell words: literals still to be quoted, a variable as shell text."""
    if not argument.is_variable:
        return argument.argv
    return (argument.flag, *(ShellText(f'"{value}"') for value in argument.values))
