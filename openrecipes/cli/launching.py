"""What every launch goes through: checked, rendered, its rows at hand, started once, followed to its end."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from openrecipes.check.report import check_recipe
from openrecipes.cli import output
from openrecipes.cli.ask_cost import ask_cost, price_of
from openrecipes.cli.following import stay_with
from openrecipes.cli.run_progress import run_progress
from openrecipes.cli.run_rows import built_rows, given_rows, refuse_far_source
from openrecipes.problems import Place, Problem, ProblemsError, errors_in, unreadable
from openrecipes.recipe.read import LocatedRecipe, read_recipe
from openrecipes.runs.directory import (
    RunDirectory,
    named_run_directory,
    new_run_directory,
    open_run_directory,
    run_name,
)
from openrecipes.runs.json_files import sha256_of
from openrecipes.runs.record import RowsUsed, utc_now
from openrecipes.targets.job import Job
from openrecipes.targets.placeholders import placeholder_problems
from openrecipes.targets.profile import Profile
from openrecipes.targets.read_profile import in_profile, placed_in_profile
from openrecipes.targets.rendering import Prepared, prepared, target_of
from openrecipes.targets.run_book import RunBook, open_book
from openrecipes.targets.starting import found_again, refuse_directory, refuse_place, started
from openrecipes.targets.stop import stop, stop_request
from openrecipes.targets.target import Launch
from openrecipes.targets.this_machine import machine_refusals, python_refusals, this_machine

RUNS = Path("runs")


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What the caller asked for. `target` None is the profile's; `run_dir` None is a new directory.

    `cluster` is the file that the profile was read from; `is_example` where the caller named none, for a dry run.
    """

    recipe: LocatedRecipe
    target: str | None
    profile: Profile
    settings: tuple[str, ...]
    run_dir: Path | None
    sft_data: Path | None
    allow_shell_env: bool
    agrees_to_cost: bool
    cluster: Path | None = None
    is_example: bool = False


def ready_to_launch(asked: Asked, *, dry: bool = False) -> Prepared:
    """The launch with its files; what only warns is told. A `dry` one takes no secret.

    Raises: ProblemsError, and makes nothing, if the recipe is unsound or cannot run there.
    """
    target = target_of(asked.target, asked.profile)
    problems = check_recipe(asked.recipe)
    if errors_in(problems):
        raise ProblemsError(*problems)
    output.problems(problems)
    with placed_in_profile(asked.cluster, asked.profile):
        ready = prepared(
            asked.recipe,
            target,
            settings=asked.settings,
            profile=asked.profile,
            sft_data=str(asked.sft_data.resolve()) if asked.sft_data else None,
            allow_shell_env=asked.allow_shell_env,
            refusals=lambda launch: _refusals_here(launch, dry=dry),
        )
    output.problems(in_profile(ready.warnings, asked.cluster, asked.profile))
    return ready


def begun(asked: Asked, ready: Prepared) -> RunBook:
    """The book of the new run, in its directory, its rows there or elsewhere.

    Raises: ProblemsError or UsageError where it is too costly, or where its rows or its directory cannot be had.
    """
    ask_cost(asked.recipe, ready.launch.recipe, asked.profile, agreed=asked.agrees_to_cost)
    with placed_in_profile(asked.cluster, asked.profile):
        _refuse_other_image(asked.profile)
        refuse_place(ready)
    refuse_where(asked, ready)
    rows = _rows_before(asked, ready)
    book = open_book(_directory(asked), ready, asked.recipe, asked.settings)
    output.say(f"run directory: {book.run.root}")
    with book.kept_true():
        if rows is not None:
            book.note(rows=rows)
        elif _rows_file(asked) is None:
            book.note(rows=built_rows(ready.launched, book.run))
    return book


def refuse_where(asked: Asked, ready: Prepared) -> None:
    """Nothing, if a job of this kind can write where its run directory would be. Raises: UsageError."""
    refuse_directory(ready, asked.run_dir or Path(asked.profile.paths.runs or RUNS))


def rows_missing(asked: Asked, ready: Prepared) -> tuple[Problem, ...]:
    """Why a launch would have no rows, as warnings of a dry run."""
    file = asked.sft_data or asked.profile.paths.sft_data
    try:
        if file is None:
            refuse_far_source(ready.launched)
        elif (asked.sft_data is not None or asked.profile.target == "local") and not Path(file).is_file():
            raise unreadable(str(file), "there is no such file", "build it, or name another with --sft-data")
    except ProblemsError as error:
        return tuple(replace(problem, severity="warning") for problem in error.problems)
    return ()


def unseen_files(asked: Asked) -> Iterator[str]:
    """What this machine does not see of the files that only the nodes need to see: rows, and secrets."""
    profile, rows = asked.profile, asked.profile.paths.sft_data
    if profile.target == "local":
        return
    if asked.sft_data is None and rows is not None and not Path(rows).exists():
        yield _unseen_rows(rows, profile)
    for name, secret in profile.secrets.items():
        if secret.file is not None and not Path(secret.file).exists():
            yield f"{secret.file} is not seen from here; each node reads {name} from it"


def _unseen_rows(file: str, profile: Profile) -> str:
    looks = "each node's preflight compares its hash" if profile.preflight_mode != "off" else "nobody checks it"
    return f"{file} is not seen from here; {looks}"


def start(book: RunBook, ready: Prepared) -> Job:
    """The started job; where it cannot be started, the record says why."""
    with book.kept_true():
        return started(book, ready)


def stay(book: RunBook, job: Job, recipe: LocatedRecipe) -> None:
    """Stays with a job to its end, whatever that is; then the record says how it ended.

    A scheduler's job whose terminal went away is left running, and so is its record.
    """
    progress = run_progress(usd_per_hour(recipe))
    stay_with(book, job, steps_wanted=book.record.steps_wanted, progress=progress)


def attach(root: Path) -> RunBook:
    """The book of a run that an earlier harness started, once it has ended or was left again.

    Raises: UsageError if it is no run directory; ProblemsError if nothing of it was ever submitted or can be found.
    """
    run = open_run_directory(root)
    book = RunBook(run, run.record())
    if book.record.has_ended:
        output.say(_ended_before(book))
    else:
        stay(book, _found(book), read_recipe(run.recipe))
    return book


def stop_run(root: Path) -> RunBook:
    """The book of a run that was going on, once it has been ended and what it left has been read.

    Raises: as attach.
    """
    run = open_run_directory(root)
    book = RunBook(run, run.record())
    if book.record.has_ended:
        output.say(_ended_before(book))
    else:
        job = _found(book)
        with stop_request() as request:
            stop(job, request)
        book.note(submission=job.submission)
        book.ended(was_stopped=True)
    return book


def _ended_before(book: RunBook) -> str:
    """What became of a run that there is nothing more to do with."""
    outcome, reason = book.record.outcome, book.record.reason
    return f"{book.run.root} has ended already: {outcome}{f', {reason}' if reason else ''}"


def _found(book: RunBook) -> Job:
    """The run's job; where there is none, the record says so from now on."""
    try:
        job = found_again(book.run, book.record)
    except ProblemsError as error:
        if any(problem.rule in ("run-lost", "run-submitted") for problem in error.problems):
            book.note(outcome="failed", reason="; ".join(problem.what for problem in error.problems))
        raise
    if book.record.submission != job.submission:
        book.note(submission=job.submission)
    return job


def usd_per_hour(recipe: LocatedRecipe) -> float | None:
    """What the recipe's GPUs cost an hour, by the catalogue's own price; None where there is none."""
    price = price_of(recipe.recipe)
    return price.usd_per_gpu_hour * recipe.recipe.gpu.count if price else None


def _refusals_here(launch: Launch, *, dry: bool) -> Iterator[Problem]:
    """What this machine lacks, where it is the target; placeholders; secrets that its environment does not have."""
    yield from placeholder_problems(launch.profile, "warning" if dry else "error")
    if launch.profile.target == "local":
        yield from machine_refusals(launch, this_machine())
        yield from python_refusals(launch.profile)
    for name, secret in launch.profile.secrets.items():
        if secret.variable is not None and secret.variable not in os.environ:
            yield Problem(
                place=Place(file=launch.profile.title, key=f"secrets.{name}"),
                rule="secret-set",
                what=f"{secret.variable} is not set here",
                mend=f"export {secret.variable} before the launch, or name a file",
                severity="warning" if dry else "error",
            )
        elif secret.file is not None and launch.profile.target == "local" and not Path(secret.file).is_file():
            yield Problem(
                place=Place(file=launch.profile.title, key=f"secrets.{name}"),
                rule="secret-set",
                what=f"{secret.file} is not there",
                mend=f"write {name} into that file, or name another",
                severity="warning" if dry else "error",
            )


def _refuse_other_image(profile: Profile) -> None:
    """Nothing, if the image file is the one that the profile means, or is not seen from here."""
    container = profile.container
    if container is None or container.image_sha256 is None or not Path(container.image).is_file():
        return
    output.say(f"reading {container.image}")
    found = sha256_of(Path(container.image))
    if found != container.image_sha256:
        place = Place(file=profile.title, key="container.image_sha256")
        what = f"{container.image_sha256}, but {container.image} is {found}"
        mend = "put the right image there, or write its hash into the profile"
        raise ProblemsError(Problem(place=place, rule="container-image", what=what, mend=mend))


def _rows_file(asked: Asked) -> Path | None:
    file = asked.sft_data or asked.profile.paths.sft_data
    return Path(file) if file is not None else None


def _rows_before(asked: Asked, ready: Prepared) -> RowsUsed | None:
    """The given rows, verified; None where they are to be built, or lie where only the nodes can see them."""
    file = _rows_file(asked)
    if file is None:
        refuse_far_source(ready.launched)
        return None
    if ready.target.name != "local" and not asked.sft_data and not file.exists():
        output.say(_unseen_rows(str(file), asked.profile))
        return None
    rows, warnings = given_rows(file, ready.launched)
    output.problems(warnings)
    return rows


def _directory(asked: Asked) -> RunDirectory:
    if asked.run_dir is not None:
        return named_run_directory(asked.run_dir)
    recipe, profile = asked.recipe.recipe, asked.profile
    # Of Kubernetes that folder lies on the pods' volume; what the run leaves there is brought here.
    folder = None if profile.target == "kubernetes" else profile.paths.runs
    name = run_name(recipe.model, recipe.gpu.type, Path(asked.recipe.file).stem, utc_now())
    return new_run_directory(Path(folder) if folder else RUNS, name)
