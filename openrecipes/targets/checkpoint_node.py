"""What every node of a checkpoint's preparation is given: the node script around the converter, and its programs."""

from typing import Any, Final

from openrecipes.catalog.models import hf_config
from openrecipes.layouts.degrees import gpus_of_a_node
from openrecipes.runs.json_files import json_text
from openrecipes.targets.checkpoint import Kind, manifest
from openrecipes.targets.conversion import disk_need
from openrecipes.targets.target import Launch, RenderedFile
from openrecipes.targets.templates import ShellText, program, shell_script

CONVERTER: Final = "tools/convert_hf_to_torch_dist.py"
RANDOM: Final = "random_checkpoint.py"
PROGRAMS: Final = ("prepare_checkpoint.py", "checkpoint_folder.py", "checkpoint_claim.py", "node_network.py")
# What the programs on the first node found, below the job's directory.
REPORT: Final = "checkpoint-report.json"


def converter_files(launch: Launch, node: str, values: dict[str, Any]) -> tuple[RenderedFile, ...]:
    """The node script, by the name `node`, and what it needs beside it. `values` are those of every node script."""
    script = shell_script(
        "node_convert.sh.j2",
        **{**values, "has_gpus": False, "variables": converter_variables(launch), **converter_values(launch)},
    )
    return (RenderedFile(path=node, text=script, executable=True), *converter_programs(launch))


def converter_programs(launch: Launch) -> tuple[RenderedFile, ...]:
    """The programs, the manifest of the checkpoint to be, and the model's config."""
    names = (*PROGRAMS, RANDOM) if kind_of(launch) == "random" else PROGRAMS
    return (
        RenderedFile(path="checkpoint.json", text=json_text(manifest(launch.model, kind_of(launch)))),
        *(RenderedFile(path=name, text=program(name)) for name in names),
        *(RenderedFile(path=f"model/{name}", text=text) for name, text in _model_folder(launch).items()),
    )


def converter_values(launch: Launch) -> dict[str, Any]:
    """What the templates of a conversion take, beside a node's own values."""
    kind, gpus = kind_of(launch), launch.recipe.gpu
    need = disk_need(launch.model, reads_weights=kind == "converted")
    return {
        "kind": kind,
        "gpus_per_node": gpus_of_a_node(gpus.count, gpus.per_node),
        "weight_bytes": need.torch_dist_bytes,
        "needed_bytes": need.needed_bytes,
        "entry": launch.command.entry,
    }


def converter_variables(launch: Launch) -> tuple[tuple[str, str], ...]:
    """The shell's variables: where things lie. To the converter, the checkpoint is the folder that it writes into."""
    paths = launch.profile.paths
    return (
        ("SLIME_DIR", paths.slime or ""),
        ("MEGATRON_DIR", paths.megatron or ""),
        ("HF_CKPT", _folder(paths.hf_checkpoint)),
        ("CHECKPOINT", _folder(paths.torch_dist)),
        ("TORCH_DIST", ShellText('"$CHECKPOINT.partial"')),
    )


def kind_of(launch: Launch) -> Kind:
    """Whether the weights are random or converted."""
    return "random" if launch.command.entry == RANDOM else "converted"


def _folder(path: str | None) -> str:
    """The path without slashes at its end: the folder's other name is made from it."""
    return (path or "").rstrip("/") or "/"


def _model_folder(launch: Launch) -> dict[str, str]:
    """config.json; for random weights also a tokenizer that slime can load: rows are tokenized already."""
    config = {"config.json": json_text(hf_config(launch.model))}
    if kind_of(launch) == "converted":
        return config
    eos = "<|im_end|>"
    tokenizer = {
        "version": "1.0",
        "added_tokens": [
            {"id": 0, "content": eos, "special": True}
            | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "truncation": None,
        "padding": None,
        "model": {"type": "WordLevel", "vocab": {eos: 0, "<unk>": 1}, "unk_token": "<unk>"},
    }
    special = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": eos, "pad_token": eos, "unk_token": "<unk>"}
    return config | {"tokenizer.json": json_text(tokenizer), "tokenizer_config.json": json_text(special)}
