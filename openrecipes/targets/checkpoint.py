"""The Megatron checkpoint that --ref-load needs: what it says of itself, and whether a folder holds one."""

import hashlib
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from openrecipes.catalog.models import Model, hf_config
from openrecipes.problems import Place, Problem

Kind = Literal["random", "converted"]

MANIFEST: Final = "openrecipes-checkpoint.json"
FILES: Final = "openrecipes-checkpoint-files.json"
TRACKER: Final = "latest_checkpointed_iteration.txt"
_MOST_BYTES: Final = 16 * 2**20
_MOST_TOLD: Final = 10


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
    try:
        if folder.is_dir():
            yield from _folder_problems(model, folder, place)
        else:
            what = "is no folder" if folder.exists() else "there is no such folder"
            mend = "prepare it with `openrecipes checkpoint prepare`, or name the right folder"
            yield Problem(place=place, rule="checkpoint-there", what=what, mend=mend)
    except OSError as error:
        what, mend = f"cannot be read: {error.strerror}", "look as a user who may read it"
        place = Place(file=str(error.filename or folder), key=place.key)
        yield Problem(place=place, rule="checkpoint-readable", what=what, mend=mend)


def _folder_problems(model: Model, folder: Path, place: Place) -> Iterator[Problem]:
    again = "prepare the checkpoint again, under another name or with this one moved away"
    tracker = folder / TRACKER
    if not tracker.is_file():
        mend = "name the folder that --save wrote, not one inside it and not a Hugging Face checkpoint"
        yield Problem(place=place, rule="checkpoint-tracker", what=f"holds no {TRACKER}", mend=mend)
    else:
        with tracker.open("rb") as file:
            word = file.read(200).decode(errors="replace").strip()
        inner = folder / (word if word == "release" else f"iter_{word:0>7}")
        if word != "release" and not (word.isascii() and word.isdecimal()):
            what, mend = f"{TRACKER} says {word[:40]}, and not release or a step", "name the folder that --save wrote"
            yield Problem(place=place, rule="checkpoint-tracker", what=what, mend=mend)
        elif not (inner / ".metadata").is_file() or not any(inner.glob("*.distcp")):
            what = f"{TRACKER} says {word}, but {inner.name} holds no torch_dist shards"
            yield Problem(place=place, rule="checkpoint-shards", what=what, mend=again)
    said = read_manifest(folder)
    if said is not None and said.get("config_sha256") != config_sha256(model):
        what = f"made for {str(said.get('model'))[:80]} of another configuration, not for {model.name}"
        yield Problem(place=place, rule="checkpoint-model", what=what, mend="prepare one for this model")
    for name, wanted, found in islice(_changed_files(folder), _MOST_TOLD):
        now = "is missing" if found is None else f"has {found}"
        what = f"{name} {now}, and had {wanted} bytes when the checkpoint was made"
        yield Problem(place=place, rule="checkpoint-files", what=what, mend=again)


def _changed_files(folder: Path) -> Iterator[tuple[str, int, int | None]]:
    """Files of a prepared checkpoint whose size is not what it was: name, size then, size now."""
    said = _document(folder / FILES)
    sizes = said.get("files") if said is not None else None
    for name, wanted in sizes.items() if isinstance(sizes, dict) else ():
        path = folder / str(name)
        if not isinstance(wanted, int) or ".." in path.parts or not path.is_relative_to(folder):
            continue
        found = path.stat().st_size if path.is_file() else None
        if found != wanted:
            yield str(name)[:200], wanted, found


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest in a checkpoint that we prepared; None in one from elsewhere, or where it cannot be read."""
    return _document(folder / MANIFEST)


def _document(path: Path) -> dict[str, Any] | None:
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
        said = json.loads(text) if len(text) <= _MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None
