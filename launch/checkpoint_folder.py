"""What the folders of a checkpoint hold: whether one is whole, whose model it is, and what it still needs.

Beside prepare_checkpoint.py. The standard library only, Python 3.10 or newer.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

MANIFEST = "openrecipes-checkpoint.json"
FILES = "openrecipes-checkpoint-files.json"
TRACKER = "latest_checkpointed_iteration.txt"
# Of the weights' bytes, so much must lie in the shards: some models' smallest tensors are stored in other types.
LEAST_SHARE = 0.9
# Sizes of a config.json that tell models apart.
SIZES = (
    "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
    "intermediate_size", "moe_intermediate_size", "num_experts", "num_experts_per_tok", "vocab_size",
)  # fmt: skip


class RefusedError(Exception):
    """Why nothing is written: a rule's id, what is wrong, what to change, and the room on the disk where that is it."""

    def __init__(self, rule: str, what: str, mend: str, disk: "dict[str, Any] | None" = None) -> None:
        super().__init__(what)
        self.rule, self.what, self.mend, self.disk = rule, what, mend, disk


def words(size: float) -> str:
    """A number of bytes for people: `738.3 GiB`."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} GiB"


def duration(seconds: float) -> str:
    """`42 s`, `3 min 10 s`, `2 h 03 min`."""
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def document(path: Path) -> Any:
    """The JSON in a file; None where there is none that can be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def written(folder: Path) -> int:
    """Bytes of all files below a folder, as they are now."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(root, name).lstat().st_size
            except OSError:
                continue  # moved or removed meanwhile
    return total


def size_of(path: Path) -> int:
    """Bytes of a file. It is opened: of what other nodes wrote, NFS may else tell what it has heard a minute ago."""
    with path.open("rb") as file:
        return os.fstat(file.fileno()).st_size


def flaw(folder: Path, weight_bytes: int) -> "str | None":
    """Why a folder holds no whole torch_dist checkpoint that the converter finished; None where it does.

    The converter writes the shards, then .metadata, then the tracker, and renames iter_0000001 to release last.
    """
    try:
        tracker = (folder / TRACKER).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return f"holds no {TRACKER}"
    if tracker != "release":
        return f"says {tracker[:40]} in {TRACKER}, where a converter that ended says release"
    inside = folder / "release"
    shards = [path for path in inside.glob("*.distcp") if path.is_file()] if inside.is_dir() else []
    if not shards or not (inside / ".metadata").is_file():
        return "holds no torch_dist shards"
    held = sum(map(size_of, shards))
    if held < LEAST_SHARE * weight_bytes:
        return f"has shards of {words(held)}, and the weights are {words(weight_bytes)}"
    return None


def list_files(folder: Path) -> None:
    """Takes down every file of the checkpoint with its size, so that a shard that is lost later is noticed."""
    inside = folder / "release"
    sizes = {f"release/{path.name}": size_of(path) for path in sorted(inside.iterdir()) if path.is_file()}
    replace_text(folder / FILES, json.dumps({"schema_version": 1, "files": sizes}, indent=2) + "\n")


def replace_text(path: Path, text: str) -> None:
    """Puts a text at a path, whole or not at all."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        os.fchmod(out.fileno(), 0o644)
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    Path(name).replace(path)


def is_made_already(folder: Path, wanted: "dict[str, Any]", weight_bytes: int) -> bool:
    """Whether the wanted checkpoint lies there, whole. Raises: RefusedError where anything else does."""
    is_plain = folder.is_dir() and not folder.is_symlink()
    if not os.path.lexists(folder) or (is_plain and next(folder.iterdir(), None) is None):
        return False
    mend = "name another folder under paths.torch_dist, or move this one away: a checkpoint is never overwritten"
    said = document(folder / MANIFEST)
    if not isinstance(said, dict):
        why = flaw(folder, weight_bytes) if folder.is_dir() else "is no folder"
        what = f"{folder} exists, and {why or f'holds a checkpoint without {MANIFEST}: nothing says whose'}"
        raise RefusedError("checkpoint-exists", what, mend)
    if said.get("config_sha256") != wanted["config_sha256"]:
        what = f"{folder} exists, and was made for {str(said.get('model'))[:80]} of another configuration"
        raise RefusedError("checkpoint-model", what, mend)
    if said.get("weights") != wanted["weights"]:
        what = f"{folder} exists, and its weights are {str(said.get('weights'))[:40]}, not {wanted['weights']}"
        raise RefusedError("checkpoint-kind", what, mend)
    why = flaw(folder, weight_bytes)
    if why is not None:
        raise RefusedError("checkpoint-shards", f"{folder} exists, and {why}", mend)
    return True


def refuse_source(folder: Path, wanted: "dict[str, Any]") -> None:
    """Nothing, if a folder holds the Hugging Face checkpoint of the model, with all of its weights."""
    refuse_other_model(folder, wanted)
    index = document(folder / "model.safetensors.index.json")
    named = index.get("weight_map") if isinstance(index, dict) else None
    if isinstance(named, dict):
        wanted_files = sorted({str(name) for name in named.values()})
        missing = [name for name in wanted_files if not (folder / name).is_file()]
        if missing:
            what = f"{folder} lacks {len(missing)} of {len(wanted_files)} files of weights, as {missing[0]}"
            raise RefusedError(
                "checkpoint-source", what, "download it again; `hf download` fetches only what is missing"
            )
    elif not any(folder.glob("*.safetensors")):
        mend = "download the weights too, or make a checkpoint of random ones with --random"
        raise RefusedError("checkpoint-source", f"{folder} holds no weights (*.safetensors)", mend)


def refuse_other_model(folder: Path, wanted: "dict[str, Any]") -> None:
    """Nothing, if a folder's config.json is that of the model, as far as its sizes say."""
    if not folder.is_dir():
        mend = "download the model there, or name the right folder under paths.hf_checkpoint"
        raise RefusedError("checkpoint-source", f"{folder}: there is no such folder", mend)
    config = document(folder / "config.json")
    if not isinstance(config, dict):
        mend = "name the folder of a Hugging Face checkpoint under paths.hf_checkpoint"
        raise RefusedError("checkpoint-source", f"{folder} holds no config.json that can be read", mend)
    text = config.get("text_config")
    stated = text if isinstance(text, dict) else config
    for name in SIZES:
        if name in stated and name in wanted and stated[name] != wanted[name]:
            what = f"{folder} is another model's: {name} {stated[name]}, and the recipe's model has {wanted[name]}"
            mend = "name this model's checkpoint under paths.hf_checkpoint"
            raise RefusedError("checkpoint-source", what, mend)


def made_source(model: Path, folder: Path, wanted: "dict[str, Any]") -> bool:
    """Puts config and tokenizer at a folder that does not exist yet; whether it had to."""
    if os.path.lexists(folder):
        refuse_other_model(folder, wanted)
        return False
    folder.parent.mkdir(parents=True, exist_ok=True)
    own = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        shutil.copytree(model, own, dirs_exist_ok=True)
        own.chmod(0o755)
        own.rename(folder)
    except OSError:
        shutil.rmtree(own, ignore_errors=True)
        if not (folder / "config.json").is_file():  # else another preparation was quicker
            raise
    return True


def room(folder: Path, needed: int) -> "dict[str, Any]":
    """The bytes needed below a folder and free there, whether or not it exists yet."""
    there = folder
    while not there.exists():
        there = there.parent
    found = os.statvfs(there)
    return {"folder": str(folder), "needed_bytes": needed, "free_bytes": found.f_bavail * found.f_frsize}
