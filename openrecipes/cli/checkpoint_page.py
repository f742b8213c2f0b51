"""What `checkpoint` prints: a preparation's files, what it came to, and what a checkpoint's folder holds."""

from dataclasses import replace
from pathlib import Path

import typer

from openrecipes import units
from openrecipes.cli import output
from openrecipes.cli.preparing import Outcome, document
from openrecipes.cli.render_page import document as command_document
from openrecipes.cli.render_page import listing
from openrecipes.cli.rendered_files import how_to_start, write_rendered_files
from openrecipes.problems import Problem
from openrecipes.targets.checkpoint import read_manifest
from openrecipes.targets.checkpoint_here import free_here
from openrecipes.targets.preparation import Preparation
from openrecipes.targets.read_profile import in_profile


def show_rendered(wanted: Preparation, folder: Path | None, *, force: bool, as_json: bool) -> None:
    """The files of a preparation, written into a folder where one is named."""
    rendered, profile = wanted.ready.rendered, wanted.ready.launch.profile
    if folder is not None:
        write_rendered_files(rendered, folder, force=force)
        for remark in how_to_start(profile.target, folder, has_rows=True):
            output.say(remark)
    free = free_here(wanted)
    if free is not None and free < wanted.need.needed_bytes:
        output.say(f"only {units.size(free)} are free there now: it would be refused")
    output.say(f"{rendered.entry} starts it; render_sha256 {rendered.render_sha256}")
    said = command_document(wanted.ready.launch.command, rendered, ())
    whole = {
        **document(wanted, Outcome(state="rendered")),
        "path": str(folder) if folder is not None else wanted.checkpoint,
        "kind": "rendered",
        "ok": True,
        "weights": wanted.kind,
        **said,
    }
    output.result(whole, as_json=as_json, text=listing(rendered))


def show_outcome(wanted: Preparation, outcome: Outcome, cluster: Path, *, as_json: bool) -> None:
    """What a preparation came to. Raises: typer.Exit with its status, unless that is 0."""
    problems = in_profile(outcome.problems, cluster, wanted.ready.launch.profile)
    state = {"made": "is made", "whole": "is whole", "running": "is being made"}.get(outcome.state)
    text = f"{wanted.checkpoint} {state}: {wanted.kind} weights" if state and not problems else ""
    output.result(document(wanted, replace(outcome, problems=problems)), as_json=as_json, text=text)
    output.problems(problems)
    if outcome.exit_status:
        raise typer.Exit(outcome.exit_status)


def show_verified(folder: Path, problems: tuple[Problem, ...], *, as_json: bool) -> None:
    """What a folder holds. Raises: typer.Exit(1) unless that is the model's checkpoint, whole."""
    said = read_manifest(folder) or {}
    kind = str(said.get("kind", "unknown"))[:80]
    found = {
        "path": str(folder),
        "kind": kind,
        "ok": not problems,
        "problems": [problem.document() for problem in problems],
    }
    output.result(found, as_json=as_json, text=f"{folder}: {kind} weights" if not problems else "")
    output.problems(problems)
    if problems:
        raise typer.Exit(1)
