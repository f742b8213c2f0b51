"""Runs with everything that a bundle needs, bundles of them, and bundles that were tampered with."""

import datetime
import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from unproved import unproved_text

from openrecipes.logs.run_log import read_log
from openrecipes.recipe.read import LocatedRecipe, parse_recipe, read_recipe
from openrecipes.runs.directory import RunDirectory, named_run_directory
from openrecipes.runs.json_files import json_text, sha256_of
from openrecipes.runs.record import FileHash, Job, LaunchedRecipe, RunRecord
from openrecipes.score.expected import expected_of
from openrecipes.score.run_evidence import read_run
from openrecipes.score.score import score
from openrecipes.write_back.write_result import text_with_result

ROOT = Path(__file__).resolve().parent.parent
RECIPES = {
    "tp2": ROOT / "recipes/qwen3.5-moe-small/h200/openrecipes-tp2-ep2.yaml",
    "tp1": ROOT / "recipes/qwen3.5-moe-small/h200/openrecipes-tp1-ep2-dp2.yaml",
}
HOST = "gpu-node-17"
CARD = {"index": 0, "name": "NVIDIA H200", "memory_mib": 143771, "driver": "580.1", "vbios": "96"}
CARD |= {"power_limit_w": 700, "max_sm_clock_mhz": 1980}
SCRIPT = "#!/bin/bash\nexec python3 train_async.py\n"


def log_of(name: str) -> bytes:
    """The log of a real run on two H200s."""
    return gzip.decompress((ROOT / f"tests/data/runs/qwen3.5-moe-small-{name}.log.gz").read_bytes())


def environment(**changes: Any) -> dict[str, Any]:
    """What was captured in the job, as the recipes' stack has it."""
    document = {
        "schema_version": 1,
        "captured_unix_s": 1796017260.0,
        "host": HOST,
        "system": {"name": "Ubuntu 24.04", "kernel": "Linux 6.8.0", "machine": "x86_64"},
        "cpu": {"name": "Xeon", "count": 96, "available": 96},
        "memory_bytes": 2**41,
        "python": "3.12.3",
        "gpus": [CARD, CARD],
        "driver": "580.1",
        "cuda_driver": None,
        "nvlink_count": 0,
        "fabric": [],
        "installed": {},
        "loaded": {"transformer_engine": {"version": "2.10.0", "file": "/usr/lib/te/__init__.py"}},
        "checkouts": {"slime": None, "megatron": None},
        "variables": {},
        "errors": {},
    }
    return {**document, **changes}


def unproved(name: str) -> LocatedRecipe:
    """The recipe of a real run, without what was shown of its correctness."""
    path = RECIPES[name]
    return parse_recipe(unproved_text(path), str(path))


def made_run(
    root: Path, name: str = "tp2", *, host: str = "localhost", env: Mapping[str, Any] | None = None, more_log: str = ""
) -> tuple[RunDirectory, LocatedRecipe]:
    """The run of a real log with all its files, and the recipe with its result as a file beside it."""
    located = unproved(name)
    run = named_run_directory(root)
    run.log.write_bytes(log_of(name) + more_log.encode())
    run.recipe.write_text(located.text, encoding="utf-8")
    run.checkpoint.write_text('{"weights": "random"}')
    run.rendered.mkdir()
    (run.rendered / "launch.sh").write_text(SCRIPT)
    script = hashlib.sha256(SCRIPT.encode()).hexdigest()
    start = datetime.datetime(2026, 11, 30, 5, 40, 30, tzinfo=datetime.UTC).timestamp()
    job = Job(
        schema_version=1, start_unix_s=start, end_unix_s=start + 236, exit_status=0, signal=None, host=host, pid=7
    )
    launched = sha256_of(run.recipe)
    steps = read_log([run.log]).steps
    record = RunRecord(
        schema_version=1,
        name=root.name,
        harness_version="0.1.0",
        created=datetime.datetime.fromtimestamp(start - 5, datetime.UTC),
        recipe=LaunchedRecipe(file="recipes/a.yaml", sha256=launched, launched_sha256=launched),
        model=located.recipe.model,
        gpu_type="H200",
        gpus=2,
        steps_wanted=14,
        target="local",
        cluster=None,
        overrides=(),
        deviations=located.recipe.result.deviations or (),
        rendered=(FileHash(path="rendered/launch.sh", sha256=script),),
        render_sha256=hashlib.sha256(f"{script}  launch.sh\n".encode()).hexdigest(),
        rows=None,
        outcome="completed",
        reason=None,
        job=job,
        log=run.raw_log(),
        steps_read=14,
    )
    run.write_record(record)
    run.job_file.write_text(json_text(job))
    run.environment.write_text(json.dumps(environment(host=host) if env is None else env))
    run.steps.write_text(json_text({"format": "slime", "steps": [step.document() for step in steps], "problems": []}))
    card = score(expected_of(located.recipe), read_run(str(run.root)), allow_unsteady=True)
    run.result.write_text(json_text(card.document()))
    run.recipe_with_result.write_text(text_with_result(located, card.result()), encoding="utf-8")
    return run, read_recipe(run.recipe_with_result)


def members_of(bundle: Path) -> dict[str, bytes]:
    """Every member of a bundle."""
    with tarfile.open(bundle) as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive}  # type: ignore[union-attr]


def archive_of(
    members: Mapping[str, bytes], entries: Callable[[tarfile.TarFile], None] = lambda _archive: None
) -> bytes:
    """A gzipped tar of members, then of whatever `entries` adds."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        entries(archive)
    return raw.getvalue()


def tampered(bundle: Path, changes: Mapping[str, bytes | None], *, relisted: bool = True) -> Path:
    """The bundle with members changed, added, or (None) left out; `relisted` has bundle.json agree with them."""
    members = members_of(bundle)
    for name, content in changes.items():
        members.pop(name, None)
        if content is not None:
            members[name] = content
    if relisted:
        contents = json.loads(members["bundle.json"])
        old = {file["path"]: file for file in contents["files"]}
        contents["files"] = [_listed(name, members[name], old) for name in sorted(members) if name != "bundle.json"]
        members["bundle.json"] = json.dumps(contents).encode()
    target = bundle.with_name("tampered.tar.gz")
    target.write_bytes(archive_of(members))
    return target


def _listed(name: str, content: bytes, old: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    sha256 = hashlib.sha256(content).hexdigest()
    before = old.get(name)
    kept = before is not None and before["sha256"] == sha256
    original = before["original_sha256"] if kept and before else sha256
    return {"path": name, "sha256": sha256, "size_bytes": len(content), "original_sha256": original}
