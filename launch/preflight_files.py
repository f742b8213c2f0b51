"""The preflight's checks of what a run reads: disks, rows, checkpoint, tokenizer. See preflight.py."""

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
from pathlib import Path
from typing import Any

from preflight_asking import Outcome, judged, read
from verify_rows import Rows, manifest_of, stored_rows

# Of a checkpoint of hundreds of GB, so much of so many shards is hashed, beside its index.
SAMPLE_BYTES = 2**20
SAMPLE_SHARDS = 16
MANIFEST = "openrecipes-checkpoint.json"
FILES = "openrecipes-checkpoint-files.json"


def disk_check(folder: Path, least_gb: float) -> Outcome:
    """Free space, free inodes, and a file written, read and removed."""
    probe = folder / f".openrecipes-preflight-{platform.node()}-{os.getpid()}"
    try:
        usage, inodes = shutil.disk_usage(folder), os.statvfs(folder)
        probe.write_bytes(b"0" * 4096)
        same = probe.read_bytes() == b"0" * 4096
        probe.unlink()
    except OSError as error:
        with contextlib.suppress(OSError):
            probe.unlink()
        return "fail", None, f"{folder}: {error.strerror}"
    free = usage.free / 1e9
    wrong = [f"{folder} has {free:.1f} GB free, not {least_gb:g}"] if free < least_gb else []
    wrong += [f"{folder} has {inodes.f_favail} inodes free"] if inodes.f_files and inodes.f_favail < 1000 else []
    return judged(round(free, 1), wrong + ([] if same else [f"{folder} gives other bytes than were written"]))


def sha256_of(path: Path) -> str:
    """sha256 of a file's bytes. Raises: OSError."""
    with path.open("rb") as file:
        found = hashlib.sha256()
        while piece := file.read(2**20):
            found.update(piece)
    return found.hexdigest()


def file_check(path: Path, wanted: str | None) -> Outcome:
    """That a file is there, and holds the wanted bytes."""
    try:
        found = sha256_of(path)
    except OSError as error:
        return "fail", None, f"{path}: {error.strerror}"
    differs = wanted is not None and found != wanted
    return judged(found, [f"{path} is another file: sha256 is not {wanted}"] if differs else [])


def tokenizer_check(folder: Path, wanted: str | None) -> Outcome:
    """The tokenizer's file. Another one than the recipe's warns: rows are tokenized before a run."""
    status, value, why = file_check(folder / "tokenizer.json", wanted)
    return ("warn" if value is not None and status == "fail" else status), value, why


def checkpoint_check(folder: Path, config_sha256: str | None) -> Outcome:
    """A torch_dist checkpoint with its tracker: without it slime starts from random weights and says nothing."""
    step = read(f"{folder}/latest_checkpointed_iteration.txt")
    if step is None:
        return "fail", None, f"{folder} has no latest_checkpointed_iteration.txt: nothing would be loaded"
    inside = folder / (step if step == "release" else f"iter_{int(step):07d}" if step.isdigit() else "?")
    files = sorted(p for p in inside.glob("*") if p.is_file()) if inside.is_dir() else []
    wrong = (
        []
        if (inside / ".metadata").is_file() and any(inside.glob("*.distcp"))
        else [f"{inside} holds no torch_dist shards"]
    )
    try:
        sizes = {f"{inside.name}/{p.name}": p.stat().st_size for p in files}
        value: dict[str, Any] = {"iteration": step, "files": len(files), "bytes": sum(sizes.values())}
        value["sample"] = sample(files)
    except OSError as error:
        return "fail", None, f"{folder}: {error}"
    said: Any = {}
    with contextlib.suppress(OSError, ValueError):
        said = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    if isinstance(said, dict) and said:
        value["weights"] = said.get("weights")
        if config_sha256 is not None and said.get("config_sha256") != config_sha256:
            wrong.append(f"{folder} was made for {said.get('model')} of another configuration")
    return judged(value, [*wrong, *changed_since_made(folder, inside.name, sizes)])


def changed_since_made(folder: Path, inside: str, found: "dict[str, int]") -> list[str]:
    """Which files have not the sizes that `openrecipes checkpoint prepare` took down, in words."""
    said: Any = None
    with contextlib.suppress(OSError, ValueError):
        said = json.loads((folder / FILES).read_text(encoding="utf-8"))
    sizes = said.get("files") if isinstance(said, dict) else None
    listed = sizes.items() if isinstance(sizes, dict) else ()
    # A trainer that saved into the same folder has moved on from them.
    changed = [name for name, size in listed if name.startswith(f"{inside}/") and found.get(name) != size]
    if not changed:
        return []
    return [f"{len(changed)} of the files of {folder} are not there or not as long as when it was made: {changed[0]}"]


def sample(files: list[Path]) -> str:
    """One hash over the index and the first bytes of some shards, evenly chosen. Raises: OSError."""
    found = hashlib.sha256()
    shards = [p for p in files if p.suffix == ".distcp"]
    chosen = shards[:: max(1, len(shards) // SAMPLE_SHARDS)][:SAMPLE_SHARDS]
    for path in [p for p in files if p.suffix != ".distcp"] + chosen:
        found.update(f"{path.name} {path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            found.update(file.read(SAMPLE_BYTES if path in chosen else 2**30))
    return found.hexdigest()


def with_sha256(text: str) -> tuple[str, str | None]:
    """`PATH=SHA256` in two parts; a path alone has no hash."""
    hashed = re.fullmatch(r"(.*)=([0-9a-f]{64})", text, re.DOTALL)
    return (hashed[1], hashed[2]) if hashed else (text, None)


def rows_check(path: Path, wanted: str | None) -> Outcome:
    """That the rows are whole, and their own hash, `openrecipes-rows/1`, whatever wrote the file."""
    try:
        import pyarrow.parquet  # noqa: F401, PLC0415  (the rest runs without)
    except ImportError as error:
        return "skipped", None, f"the rows cannot be read here: {error}"
    rows = Rows(None, None)
    try:
        for tokens, mask in stored_rows(path):
            rows.add(tokens, mask)
    # Of pyarrow, too: a damaged file is a ValueError to it, a codec that its build lacks a NotImplementedError.
    except (OSError, ValueError, KeyError, TypeError, NotImplementedError) as error:
        return "fail", None, f"{path}: no rows of this project can be read: {error}"
    if rows.faults or not rows.rows:
        return "fail", None, f"{path}: {rows.faults[0] if rows.faults else 'there is no row'}"
    found, said = rows.hash.hexdigest(), wanted or said_by_manifest(path)
    if said is None:
        return "warn", found, f"no manifest lies beside {path}: which rows these are, nobody can say"
    return judged(found, [f"{path} holds other rows: rows_sha256 is not {said}"] if found != said else [])


def said_by_manifest(path: Path) -> str | None:
    """The rows' hash in the manifest beside them; None without one, or where it cannot be read."""
    said = (manifest_of(path)[0] or {}).get("rows_sha256")
    return None if said is None else str(said)
