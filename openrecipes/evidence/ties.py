"""What ties a run's files to each other: each hash that one of them states of another, derived again."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from openrecipes.compare.drift import drift, stack_of, stated_stack
from openrecipes.compare.job_stack import job_stack
from openrecipes.evidence.contents import ROWS_MANIFEST, Contents
from openrecipes.evidence.run_files import NEEDED, OPTIONAL, RENDERED, TELEMETRY
from openrecipes.logs.run_log import read_log
from openrecipes.problems import Place, Problem, ProblemsError
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe, read_recipe
from openrecipes.rows.manifest import read_manifest
from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.left_files import FILES
from openrecipes.runs.record import RunRecord
from openrecipes.write_back.evidence import other_work

_MEND: Final = "bundle the run as it was left; nothing in a run directory may be edited"


class RunTies:
    """One run of a bundle, unpacked at `root`, against what its files say of each other and the recipe of them."""

    def __init__(self, root: Path, contents: Contents, claim: LocatedRecipe) -> None:
        self._run = RunDirectory(root=root)
        self._prefix = root.name
        self._files = {
            file.path.removeprefix(f"{root.name}/"): file
            for file in contents.files
            if file.path.startswith(f"{root.name}/")
        }
        self._claim = claim

    def problems(self) -> Iterator[Problem]:
        """Everything that does not hold."""
        missing = [name for name in NEEDED if name not in self._files]
        for name in missing:
            yield self._problem(name, "is not in the bundle, and belongs to the evidence")
        if missing:
            return
        try:
            record, job = self._run.record(), self._run.job()
        except ProblemsError as error:
            yield from error.problems
            return
        if record.job != job:
            yield self._problem("job.json", "is not the job that run.json records")
        yield from self._hashes(record)
        yield from self._left(record)
        yield from self._launched(record)
        yield from self._rows(record)
        yield from self._steps(record)
        yield from self._environment()

    def _hashes(self, record: RunRecord) -> Iterator[Problem]:
        log = self._files["log/train.log"]
        if record.log is None or record.log.sha256 != log.original_sha256:
            yield self._problem("log/train.log", "is not the log that run.json records")
        elif not log.is_redacted and record.log.size_bytes != log.size_bytes:
            yield self._problem("log/train.log", f"has {log.size_bytes} bytes, run.json says {record.log.size_bytes}")
        if record.recipe.launched_sha256 != self._files["recipe.yaml"].original_sha256:
            yield self._problem("recipe.yaml", "is not the recipe that run.json says was launched")
        launched = {file.path: file.sha256 for file in record.rendered}
        for path, sha256 in launched.items():
            file = self._files.get(path)
            if file is None or file.original_sha256 != sha256:
                yield self._problem(path, "is not the file that run.json says was launched")
        lines = sorted(f"{sha256}  {path.removeprefix(f'{RENDERED}/')}\n" for path, sha256 in launched.items())
        if hashlib.sha256("".join(lines).encode()).hexdigest() != record.render_sha256:
            yield self._problem("run.json", "render_sha256 is not the hash of the launched files")
        for path, file in self._files.items():
            if not _belongs(path, launched):
                yield self._problem(path, f"does not belong into a bundle ({file.size_bytes} bytes)", "bundle-extra")

    def _left(self, record: RunRecord) -> Iterator[Problem]:
        """What the run left beside its log; a telemetry file may be called otherwise here, since hosts are redacted."""
        recorded = {file.path: file.sha256 for file in record.left}
        if not recorded:
            return  # of a run before these were recorded
        sampled = [sha256 for path, sha256 in recorded.items() if path.startswith(f"{TELEMETRY}/")]
        for path, file in self._files.items():
            if path.startswith(f"{TELEMETRY}/"):
                is_the_runs = file.original_sha256 in sampled
                if is_the_runs:
                    sampled.remove(file.original_sha256)
            else:
                is_the_runs = path not in FILES or recorded.get(path) == file.original_sha256
            if not is_the_runs:
                yield self._problem(path, "is not the file that run.json says the run left")
        if sampled:
            yield self._problem(TELEMETRY, f"lacks {len(sampled)} of the files that run.json says the run left")

    def _launched(self, record: RunRecord) -> Iterator[Problem]:
        """The recipe as launched against the one that claims the result; what the site set must be a deviation."""
        try:
            launched = read_recipe(self._run.recipe).recipe
        except ProblemsError as error:
            yield from error.problems
            return
        claim, allowed = self._claim.recipe, self._claim.recipe.result.deviations or ()
        same_flags = launched.model_copy(update={"arguments": claim.arguments})
        yield from other_work(self._claim, same_flags)
        for block, mine, theirs in (
            ("arguments", claim.arguments or {}, launched.arguments or {}),
            ("env", claim.env, launched.env),
        ):
            for name, one, other in _differing(mine, theirs):
                if not any(words.startswith((f"{block}.{name}=", f"{block}.{name} (")) for words in allowed):
                    yield Problem(
                        place=self._claim.place("result.deviations"),
                        rule="bundle-deviation",
                        what=f"the run had {block}.{name} {_shown(other)}, the recipe has {_shown(one)}, "
                        "and no deviation says so",
                        mend="openrecipes score RECIPE RUN_DIR --write writes the deviations of the run",
                    )
        yield from self._record_of(record, launched)

    def _record_of(self, record: RunRecord, launched: Recipe) -> Iterator[Problem]:
        pairs = {
            "model": (record.model, launched.model),
            "gpu_type": (record.gpu_type, launched.gpu.type),
            "gpus": (record.gpus, launched.gpu.count),
            "steps_wanted": (record.steps_wanted, launched.result.steps_per_run),
        }
        for name, (one, other) in pairs.items():
            if one != other:
                yield self._problem("run.json", f"{name} is {one}, but the launched recipe says {other}")

    def _rows(self, record: RunRecord) -> Iterator[Problem]:
        wanted = self._claim.recipe.workload.dataset.rows_sha256
        if record.rows is None:
            yield self._warning("run.json", "says nothing of the rows that were trained on")
            return
        if wanted is not None and record.rows.rows_sha256 != wanted:
            yield self._problem("run.json", f"the run read rows {record.rows.rows_sha256}, the recipe says {wanted}")
        if ROWS_MANIFEST not in self._files:
            yield self._warning(ROWS_MANIFEST, "is not in the bundle: the rows' hash stands in run.json alone")
            return
        try:
            manifest = read_manifest(self._run.root / ROWS_MANIFEST.removesuffix(".manifest.json"))
        except ProblemsError as error:
            yield from error.problems
            return
        for name in ("rows", "row_tokens", "rows_sha256", "parquet_sha256"):
            one, other = getattr(manifest, name), getattr(record.rows, name)
            if one != other:
                yield self._problem(ROWS_MANIFEST, f"{name} is {one}, but run.json says {other}")

    def _steps(self, record: RunRecord) -> Iterator[Problem]:
        """The stored step records, and their number in the record, against those that the log gives."""
        read = read_log([self._run.log])
        timed = len({step.step for step in read.steps if step.step_time_s is not None})
        if record.steps_read != timed:
            yield self._problem("run.json", f"steps_read is {record.steps_read}, the log has {timed}")
        derived = [_without_place(step.document()) for step in read.steps]
        stored = _steps_of(self._run.steps)
        if stored is None:
            yield self._problem("steps.json", "holds no step records")
            return
        if len(stored) != len(derived):
            yield self._problem("steps.json", f"has {len(stored)} steps, the log has {len(derived)}")
        for one, other in zip(stored, derived, strict=False):
            keys = [key for key in other if one.get(key) != other[key]]
            if keys:
                what = f"step {other['step']}: {keys[0]} is {one.get(keys[0])}, the log says {other[keys[0]]}"
                yield self._problem("steps.json", what)

    def _environment(self) -> Iterator[Problem]:
        """What was loaded in the job against the recipe's stack."""
        try:
            captured = job_stack(self._run)
        except ProblemsError as error:
            yield from error.problems
            return
        wanted = self._claim.recipe.gpu.type
        others = {card.name for card in captured.gpus if not re.search(rf"\b{re.escape(wanted)}\b", card.name)}
        if others and wanted != "CPU":
            yield Problem(
                place=self._claim.place("gpu.type"),
                rule="bundle-gpu",
                what=f"{wanted}, but the job had {', '.join(sorted(others))}",
                mend="submit the recipe of the GPU that it ran on",
            )
        for field in drift(stated_stack(self._claim.recipe.stack), stack_of(captured)):
            if field.status == "different":
                yield Problem(
                    place=self._claim.place(f"stack.{field.field}"),
                    rule="stack-drift",
                    what=f"{field.stated}, but the job had {field.found} ({field.why})",
                    mend="write what the job had: openrecipes env --write RECIPE --run RUN_DIR",
                )

    def _problem(self, name: str, what: str, rule: str = "bundle-tie") -> Problem:
        return Problem(place=Place(file=f"{self._prefix}/{name}"), rule=rule, what=what, mend=_MEND)

    def _warning(self, name: str, what: str) -> Problem:
        place = Place(file=f"{self._prefix}/{name}")
        mend = "keep the rows' manifest beside them, and bundle where it can be read"
        return Problem(place=place, rule="bundle-rows", what=what, mend=mend, severity="warning")


def _belongs(path: str, launched: dict[str, str]) -> bool:
    is_telemetry = path.startswith(f"{TELEMETRY}/") and path.count("/") == 1 and path.endswith(".jsonl")
    return path in NEEDED or path in OPTIONAL or path in launched or is_telemetry


def _shown(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _differing(one: dict[str, Any], other: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name in dict.fromkeys((*one, *other)):
        if one.get(name) != other.get(name):
            yield name, one.get(name), other.get(name)


def _steps_of(path: Path) -> list[dict[str, Any]] | None:
    document = bounded_json(path)
    steps = document.get("steps") if isinstance(document, dict) else None
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        return None
    return [_without_place(step) for step in steps]


def _without_place(step: dict[str, Any]) -> dict[str, Any]:
    """The record without the file it was read from, which is another now."""
    return {key: value for key, value in step.items() if key != "file"}


def bounded_json(path: Path) -> Any:
    """The JSON of an untrusted file; None where it is none, or too large to be one of ours."""
    try:
        if path.stat().st_size > 64 * 2**20:
            return None
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
