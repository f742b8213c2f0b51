"""The Megatron checkpoint that --ref-load needs: the files that make one, and whether a folder holds one."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

from openrecipes.catalog.models import Model, hf_config
from openrecipes.problems import Place, Problem, ProblemsError
from openrecipes.render.argument import EnvironmentValue
from openrecipes.runs.json_files import json_text
from openrecipes.targets.probes import node_value
from openrecipes.targets.profile import Profile
from openrecipes.targets.target import Rendered, RenderedFile
from openrecipes.targets.templates import ShellText, program, shell_script

Kind = Literal["random", "converted"]

MANIFEST: Final = "openrecipes-checkpoint.json"
ENTRY: Final = "checkpoint.sh"
_TRACKER: Final = "latest_checkpointed_iteration.txt"


def rendered_checkpoint(model: Model, profile: Profile, *, kind: Kind, gpus: int) -> Rendered:
    """Every file of the preparation. Pure.

    Raises: ProblemsError naming each path that the profile must say.
    """
    missing = tuple(_missing(profile))
    if missing:
        raise ProblemsError(*missing)
    paths = profile.paths
    literals = {"PYTHONUNBUFFERED": "1", "CUDA_DEVICE_MAX_CONNECTIONS": "1"}
    literals |= {name: value for name, value in profile.env.items() if "$(" not in value}
    shell = [EnvironmentValue(name=n, value=v, kind="shell", origin="") for n, v in profile.env.items() if "$(" in v]
    own = (ShellText('"$MEGATRON_DIR"'), ShellText('"$SLIME_DIR"'))
    text = shell_script(
        "checkpoint.sh.j2",
        kept_variables=profile.kept_variables,
        variables=tuple(
            (name, value or "")
            for name, value in (
                ("SLIME_DIR", paths.slime),
                ("MEGATRON_DIR", paths.megatron),
                ("HF_CKPT", paths.hf_checkpoint),
                ("TORCH_DIST", paths.torch_dist),
            )
        ),
        literal_environment=tuple(
            {"SLIME_DIR": paths.slime or "", "MEGATRON_DIR": paths.megatron or "", **literals}.items()
        ),
        node_values=tuple(node_value(value) for value in shell),
        python_path=(*own, literals["PYTHONPATH"]) if "PYTHONPATH" in literals else own,
        argument_words=tuple(argument.argv for argument in model.architecture_arguments()),
        python=profile.python,
        kind=kind,
        gpus=gpus,
        manifest_name=MANIFEST,
    )
    files = [
        RenderedFile(path=ENTRY, text=text, executable=True),
        RenderedFile(path="checkpoint.json", text=json_text(manifest(model, kind))),
    ]
    if kind == "random":
        files.append(RenderedFile(path="random_checkpoint.py", text=program("random_checkpoint.py")))
        files += [RenderedFile(path=f"model/{name}", text=text) for name, text in _model_folder(model).items()]
    return Rendered(files=tuple(files), entry=ENTRY)


def manifest(model: Model, kind: Kind) -> dict[str, Any]:
    """What a checkpoint says of itself: which model, from which weights."""
    return {
        "schema_version": 1,
        "model": model.name,
        "kind": kind,
        "weights": "random" if kind == "random" else "pretrained",
        "config_sha256": config_sha256(model),
        "params": model.params,
    }


def config_sha256(model: Model) -> str:
    """sha256 of the model's config, as canonical JSON."""
    return hashlib.sha256(json.dumps(hf_config(model), sort_keys=True).encode()).hexdigest()


def checkpoint_problems(model: Model, folder: Path) -> Iterator[Problem]:
    """Why a folder is not the torch_dist checkpoint of this model, as far as its files say."""
    place = Place(file=str(folder), key="paths.torch_dist")
    if not folder.is_dir():
        mend = "prepare it with `openrecipes checkpoint prepare`, or name the right folder"
        yield Problem(place=place, rule="checkpoint-there", what="there is no such folder", mend=mend)
        return
    tracker = folder / _TRACKER
    if not tracker.is_file():
        mend = "name the folder that --save wrote, not one inside it and not a Hugging Face checkpoint"
        yield Problem(place=place, rule="checkpoint-tracker", what=f"holds no {_TRACKER}", mend=mend)
    else:
        word = tracker.read_text(encoding="utf-8", errors="replace").strip()
        inner = folder / (word if word == "release" else f"iter_{word:0>7}")
        if not (inner / ".metadata").is_file() or not any(inner.glob("*.distcp")):
            what = f"{_TRACKER} says {word[:40]}, but {inner.name} holds no torch_dist shards"
            yield Problem(place=place, rule="checkpoint-shards", what=what, mend="prepare the checkpoint again")
    said = read_manifest(folder)
    if said is not None and said.get("config_sha256") != config_sha256(model):
        what = f"made for {str(said.get('model'))[:80]} of another configuration, not for {model.name}"
        yield Problem(place=place, rule="checkpoint-model", what=what, mend="prepare one for this model")


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest in a checkpoint that we prepared; None in one from elsewhere, or where it cannot be read."""
    try:
        said = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) else None


def _missing(profile: Profile) -> Iterator[Problem]:
    for name in ("slime", "megatron", "hf_checkpoint", "torch_dist"):
        if getattr(profile.paths, name) is None:
            yield Problem(
                place=Place(file=profile.title, key=f"paths.{name}"),
                rule="target-paths",
                what="the preparation needs it, and the profile does not say it",
                mend=f"write paths.{name} into a cluster profile, and name that with --cluster",
            )


def _model_folder(model: Model) -> dict[str, str]:
    """config.json, and a tokenizer that slime can load: rows are tokenized already, so none of its words is used."""
    eos = "<|im_end|>"
    vocabulary = {eos: 0, "<unk>": 1}
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
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
    }
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": eos, "pad_token": eos, "unk_token": "<unk>"}
    return {
        "config.json": json_text(hf_config(model)),
        "tokenizer.json": json_text(tokenizer),
        "tokenizer_config.json": json_text(config),
    }
