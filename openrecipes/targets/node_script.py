"""What every node of a launch is given, whatever starts it: the node script and the programs beside it."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from openrecipes.catalog.models import hf_config
from openrecipes.layouts.degrees import gpus_of_a_node, nodes
from openrecipes.problems import Place, Problem
from openrecipes.render.argument import Argument
from openrecipes.runs.json_files import json_text
from openrecipes.stack import capture
from openrecipes.targets.checkpoint_node import converter_files
from openrecipes.targets.node_values import node_value
from openrecipes.targets.preflight import preflight_files
from openrecipes.targets.preflight_words import between_words, preflight_words
from openrecipes.targets.running_settings import Hang
from openrecipes.targets.target import Launch, RenderedFile
from openrecipes.targets.templates import ShellText, program, shell_script

NODE: Final = "node.sh"
# Every line is written at once and each rank's lines stay: a log that is read later must hold them all.
LOG_SETTINGS: Final = {"PYTHONUNBUFFERED": "1"}
RAY_SETTINGS: Final = {"RAY_DEDUP_LOGS": "0", "RAY_COLOR_PREFIX": "0"}
# How often the launching script looks for a new step.
HANG_POLL_S: Final = 5
_GIB: Final = 2**30


def node_files(launch: Launch, *, grace_s: int) -> tuple[RenderedFile, ...]:
    """The node script, the capture of the environment, and what the trainer needs beside them."""
    if launch.command.trainer == "converter":
        return converter_files(launch, NODE, _common_values(launch, grace_s))
    files = [
        RenderedFile(path=NODE, text=_node_script(launch, grace_s), executable=True),
        RenderedFile(path="capture_environment.py", text=capture.source_text()),
    ]
    names: tuple[str, ...]
    if launch.recipe.trainer == "smoke":
        names = ("smoke_sft.py",)
        files.append(RenderedFile(path="model/config.json", text=json_text(hf_config(launch.model))))
    else:
        names = ("pretokenized_sft_rollout.py", "ray_cluster.py", "node_network.py")
    if has_gpus(launch):
        names = (*names, "telemetry.py")
    files += [RenderedFile(path=name, text=program(name)) for name in names]
    return (*files, *(preflight_files() if has_preflight(launch) else ()))


def node_count(launch: Launch) -> int:
    """Nodes of the launch."""
    return nodes(launch.recipe.gpu.count, launch.recipe.gpu.per_node)


def has_gpus(launch: Launch) -> bool:
    """Whether the job needs GPUs."""
    return launch.recipe.gpu.type != "CPU"


def has_preflight(launch: Launch) -> bool:
    """Whether the nodes look at themselves before they train."""
    return launch.profile.preflight_mode != "off"


def hang_values(hang: Hang) -> dict[str, int]:
    """The bounds of a run that hangs, as whole numbers for the shell."""
    return {
        "poll_seconds": HANG_POLL_S,
        "tenths_of_medians": max(1, round(hang.medians * 10)),
        "at_least_seconds": hang.at_least_seconds,
        "first_step_seconds": hang.first_step_seconds,
        "after_error_seconds": hang.after_error_seconds,
    }


def head_line(folder: str) -> str:
    """A script for `sed -nE` that prints address and folder of the head's Ray, of lines that say just that.

    It is the only line of a log that anything is steered by. A trainer's output stands in the same log, so nothing is
    taken that is not an IPv4 address, a port and a folder made by mktemp below `folder`: what is read is put into
    commands, and what lies in that folder is removed.
    """
    made = f"{folder.replace('.', '[.]')}/openrecipes-[A-Za-z0-9]{{6}}"  # a dot is all that a profile lets in
    return rf"s#^openrecipes: head ([0-9]{{1,3}}(\.[0-9]{{1,3}}){{3}}:[0-9]{{1,5}}) ({made})$#\1 \3#p"


def missing_paths(launch: Launch) -> Iterator[Problem]:
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


def _node_script(launch: Launch, grace_s: int) -> str:
    gpus, values = launch.recipe.gpu, _common_values(launch, grace_s)
    if launch.recipe.trainer == "smoke":
        return shell_script("node_torchrun.sh.j2", ranks=gpus.count, **values)
    ray = launch.profile.ray
    return shell_script(
        "node_ray.sh.j2",
        gpus=gpus_of_a_node(gpus.count, gpus.per_node),
        cpus=ray.cpus_per_node,
        port=ray.port,
        ray_options=tuple(_ray_options(launch)),
        **values,
    )


def _common_values(launch: Launch, grace_s: int) -> dict[str, Any]:
    """What the node script takes, whichever trainer it starts."""
    literals = {v.name: v.value for v in launch.command.environment if v.kind == "literal"}
    names = tuple(value.name for value in launch.command.environment)
    settings = _settings(launch)
    words = preflight_words(launch.profile, launch.recipe, sft_data=launch.sft_data)
    return {
        "grace_seconds": grace_s,
        "nodes": node_count(launch),
        "image": launch.profile.image,
        "has_gpus": has_gpus(launch),
        "node_folder": launch.profile.ray.folder,
        "interface": launch.profile.ray.interface,
        "join_seconds": launch.profile.join_seconds,
        "head_line": head_line(launch.profile.ray.folder),
        "secrets": tuple({"name": n, **s.model_dump()} for n, s in sorted(launch.profile.secrets.items())),
        "preflight_words": words if has_preflight(launch) else None,
        "between_words": between_words(launch.profile, launch.recipe),
        "preflight_blocks": launch.profile.preflight_mode == "block",
        "literal_environment": tuple({**settings, **_checkouts(launch), **literals}.items()),
        "node_values": tuple(node_value(value) for value in launch.shell_values),
        "recorded_variables": tuple(dict.fromkeys((*settings, *names))),
        "variables": (*_checkouts(launch).items(), *variables(launch)),
        "python_path": _python_path(launch, literals),
        "argument_words": tuple(argument_words(a) for a in launch.command.arguments),
        "python": launch.profile.python,
        "entry": launch.command.entry,
    }


def _settings(launch: Launch) -> dict[str, str]:
    """What logs and the network need; the recipe's own values of these win."""
    if launch.recipe.trainer == "smoke":
        return dict(LOG_SETTINGS)
    fabric, interface = launch.profile.fabric, launch.profile.ray.interface
    bootstrap = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME") if interface else ()
    return LOG_SETTINGS | RAY_SETTINGS | dict.fromkeys(bootstrap, interface or "") | (fabric.env if fabric else {})


def _ray_options(launch: Launch) -> Iterator[str]:
    ray = launch.profile.ray
    if ray.object_store_gib is not None:
        yield f"--object-store-memory={round(ray.object_store_gib * _GIB)}"
    if ray.worker_ports is not None:
        first, last = ray.worker_ports
        yield from (f"--min-worker-port={first}", f"--max-worker-port={last}")


def _checkouts(launch: Launch) -> dict[str, str]:
    paths = launch.profile.paths
    found = {"SLIME_DIR": paths.slime, "MEGATRON_DIR": paths.megatron}
    return {name: path for name, path in found.items() if path is not None and launch.recipe.trainer == "slime"}


def _python_path(launch: Launch, literals: Mapping[str, str]) -> tuple[str, ...]:
    """Where slime's processes find the rollout function, Megatron and slime; then the recipe's and the node's own."""
    if launch.recipe.trainer == "smoke":
        return ()
    own = (ShellText('"$here"'), ShellText('"$MEGATRON_DIR"'), ShellText('"$SLIME_DIR"'))
    return (*own, literals["PYTHONPATH"]) if "PYTHONPATH" in literals else own


def variables(launch: Launch) -> Iterator[tuple[str, str]]:
    """The shell variables that arguments name, with what each is on this target."""
    paths = launch.profile.paths
    # The smoke trainer reads no weights, only its model's shape, and that is among the launched files.
    of_the_place = None if launch.recipe.trainer == "smoke" else paths.hf_checkpoint
    defined = {
        "HF_CKPT": of_the_place or ShellText('"$here/model"'),
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
