"""What `checkpoint prepare` goes through: what is there already, what it needs, one job followed to its end."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from openrecipes import units
from openrecipes.cli import output
from openrecipes.cli.following import stay_with
from openrecipes.cli.preparation_progress import preparation_progress
from openrecipes.cli.run_page import log_tail
from openrecipes.diagnosis.diagnose import diagnose
from openrecipes.problems import Place, Problem, ProblemsError
from openrecipes.targets.checkpoint import checkpoint_problems
from openrecipes.targets.checkpoint_here import free_here, is_made, is_seen_here, short_of_room
from openrecipes.targets.placeholders import placeholder_problems
from openrecipes.targets.preparation import Preparation
from openrecipes.targets.preparation_book import PreparationBook, going_on, open_preparation, refuse_going
from openrecipes.targets.starting import refuse_directory, refuse_place, started


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What `checkpoint prepare` came to; `said` are further keys of its JSON document."""

    state: Literal["rendered", "running", "made", "whole", "refused", "interrupted", "failed"]
    problems: tuple[Problem, ...] = ()
    exit_status: int = 0
    said: dict[str, Any] = field(default_factory=dict)


def made(wanted: Preparation, *, parent: Path, detach: bool, attach: bool) -> Outcome:
    """The checkpoint made, or why not: refused, failed, stopped, or there already.

    Raises: ProblemsError or UsageError, and starts nothing, where that can be told from here.
    """
    placeholders = tuple(placeholder_problems(wanted.ready.launch.profile, "error"))
    if placeholders:
        raise ProblemsError(*placeholders)
    found = going_on(wanted, parent)
    if found is not None and not attach:
        refuse_going(found[0])
    if found is None:
        if attach:
            raise _nothing_goes_on(wanted, parent)
        if is_made(wanted):
            output.say(f"{wanted.checkpoint} is whole already: nothing to do")
            return Outcome(state="whole", said={"kept": [wanted.checkpoint]})
        short = short_of_room(wanted)
        if short is not None:
            return Outcome(state="refused", problems=(short,), exit_status=1)
        refuse_place(wanted.ready)
        refuse_directory(wanted.ready, parent)
        book = open_preparation(wanted, parent)
        output.say(f"files of the preparation: {book.run.root}")
        job = started(book, wanted.ready)
    else:
        book, job = found
    if not detach:
        stay_with(book, job, steps_wanted=0, progress=preparation_progress())
    return _outcome(wanted, book)


def need_in_words(wanted: Preparation) -> str:
    """`Qwen3.5-4B, converted, on 1 node of 2 GPUs (PP2): reads 7.8 GiB, needs 8.0 GiB in /data`."""
    conversion, need = wanted.conversion, wanted.need
    degrees = "".join(f" {name}{n}" for name, n in (("PP", conversion.pp), ("EP", conversion.ep)) if n > 1)
    gpus = f"{conversion.gpus_per_node} GPU{'s' if conversion.gpus_per_node > 1 else ''}"
    place = f"on {conversion.nodes} node{'s' if conversion.nodes > 1 else ''} of {gpus}"
    reads = f"reads about {units.size(need.hf_checkpoint_bytes)}, " if need.hf_checkpoint_bytes else ""
    weights = "random weights" if wanted.kind == "random" else "converted"
    return (
        f"{wanted.ready.launch.model.name}, {weights}, {place}{f' ({degrees.strip()})' if degrees else ''}: "
        f"{reads}needs {units.size(need.needed_bytes)} free in {Path(wanted.checkpoint).parent}"
    )


def document(wanted: Preparation, outcome: Outcome) -> dict[str, Any]:
    """What `checkpoint prepare --json` prints."""
    conversion = wanted.conversion
    disk = {**wanted.need.document(), "free_bytes": free_here(wanted)}
    said = dict(outcome.said)
    disk |= said.pop("disk", None) or {}
    return {
        "path": wanted.checkpoint,
        "kind": wanted.kind,
        "ok": not outcome.problems and outcome.state in ("made", "whole"),
        "problems": [problem.document() for problem in outcome.problems],
        "state": outcome.state,
        "nodes": conversion.nodes,
        "gpus_per_node": conversion.gpus_per_node,
        "disk": disk,
        "render_sha256": wanted.ready.rendered.render_sha256,
        **said,
    }


def _nothing_goes_on(wanted: Preparation, parent: Path) -> ProblemsError:
    what = f"no preparation of {wanted.checkpoint} goes on, as far as {parent} tells"
    mend = "leave --attach out to start one, or name the folder of its files with --work-dir"
    return ProblemsError(Problem(place=Place(key="--attach"), rule="checkpoint-going", what=what, mend=mend))


def _outcome(wanted: Preparation, book: PreparationBook) -> Outcome:
    record, report = book.record, book.report()
    said: dict[str, Any] = {"run_dir": str(book.run.root), "kept": report.get("kept") or []}
    if isinstance(report.get("disk"), dict):
        said["disk"] = report["disk"]
    if not record.has_ended:
        output.say(f"it goes on; follow it with the same command and --attach, or: tail -f {book.run.log}")
        return Outcome(state="running", said=said)
    folder = Path(wanted.checkpoint)
    if record.outcome == "completed":
        is_seen = is_seen_here(wanted.ready.launch.profile) and folder.is_dir()
        problems = tuple(checkpoint_problems(wanted.ready.launch.model, folder)) if is_seen else ()
        was_there = report.get("state") == "whole"
        exit_status = 1 if problems else 0
        return Outcome(state="whole" if was_there else "made", problems=problems, exit_status=exit_status, said=said)
    if record.outcome == "interrupted":
        output.say(f"{record.reason}; the same command starts it again, and what is whole is kept")
        return Outcome(state="interrupted", exit_status=130, said=said)
    refusal = report.get("problem") if report.get("state") == "refused" else None
    if isinstance(refusal, dict):
        return Outcome(state="refused", problems=(_refusal(wanted, refusal),), exit_status=1, said=said)
    output.say(f"the end of the log:\n{log_tail(book.run)}\n")
    return Outcome(state="failed", problems=(_failure(book),), exit_status=3, said=said)


def _failure(book: PreparationBook) -> Problem:
    """Why a converter failed: the first cause that its log shows, and what helps against it."""
    what = f"the preparation failed: {book.record.reason}"
    mend = f"read {book.run.log}; the same command starts it again, and what is whole is kept"
    cause = diagnose([str(book.run.log)]).cause
    if cause is not None:
        what, mend = f"{what}; {cause.name}: {cause.text[:200]}", f"{cause.remedy}; {mend}"
    return Problem(place=Place(file=str(book.run.root)), rule="checkpoint-made", what=what, mend=mend)


def _refusal(wanted: Preparation, refusal: dict[str, Any]) -> Problem:
    """What the programs on the node refused, as a problem of the profile."""
    rule, what, mend = (str(refusal.get(name, ""))[:2000] for name in ("rule", "what", "mend"))
    key = "paths.hf_checkpoint" if rule == "checkpoint-source" else "paths.torch_dist"
    return Problem(place=Place(file=wanted.ready.launch.profile.title, key=key), rule=rule, what=what, mend=mend)
