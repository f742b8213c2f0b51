"""The whole loop of `run`: check, rows, render, launch, follow, score, write back."""

from dataclasses import dataclass
from pathlib import Path

from openrecipes.check.report import check_recipe
from openrecipes.cli import output
from openrecipes.cli.ask_cost import ask_cost
from openrecipes.cli.run_progress import run_progress
from openrecipes.cli.run_rows import built_rows, given_rows, refuse_far_source
from openrecipes.problems import Place, Problem, ProblemsError, UsageError, errors_in
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.runs.directory import RunDirectory, named_run_directory, new_run_directory, run_name
from openrecipes.runs.json_files import write_atomically, write_json
from openrecipes.runs.record import RowsUsed, RunRecord, utc_now
from openrecipes.score.expected import expected_of
from openrecipes.score.run_evidence import read_run
from openrecipes.score.score import score
from openrecipes.score.scorecard import Scorecard
from openrecipes.targets.follow import follow
from openrecipes.targets.profile import Profile
from openrecipes.targets.rendering import Prepared, prepared, target_named
from openrecipes.targets.run_book import RunBook, open_book
from openrecipes.targets.stop import stop, stop_request
from openrecipes.targets.submit import submit
from openrecipes.targets.this_machine import machine_refusals, this_machine
from openrecipes.write_back.write_result import text_with_result, write_result

RUNS = Path("runs")


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What the caller asked for. `run_dir` None means a new directory below runs/."""

    recipe: LocatedRecipe
    target: str
    profile: Profile
    settings: tuple[str, ...]
    run_dir: Path | None
    sft_data: Path | None
    allow_shell_env: bool
    write: bool
    agrees_to_cost: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """A run that has ended. `card` is None unless it completed; a card may still be refused.

    `problems` are the card's, and why the result could not be written where that was asked for.
    """

    run: RunDirectory
    record: RunRecord
    card: Scorecard | None
    problems: tuple[Problem, ...]

    @property
    def is_scored(self) -> bool:
        """Whether there is a result."""
        return self.card is not None and not self.card.is_refused


def whole_loop(asked: Asked) -> Ran:
    """The run, ended and scored.

    Raises: ProblemsError, and neither starts nor makes anything, if the recipe is unsound or cannot run here.
    """
    target = target_named(asked.target)
    _refuse_elsewhere(target.name, asked.profile)
    _refuse_unsound(asked.recipe)
    ready = prepared(
        asked.recipe,
        target,
        settings=asked.settings,
        profile=asked.profile,
        sft_data=str(asked.sft_data.resolve()) if asked.sft_data else None,
        allow_shell_env=asked.allow_shell_env,
        refusals=lambda launch: machine_refusals(launch, this_machine()),
    )
    output.problems(ready.warnings)
    ask_cost(asked.recipe, agreed=asked.agrees_to_cost)
    rows = _rows_before(asked, ready)
    book = open_book(_directory(asked), ready, asked.recipe, asked.settings)
    output.say(f"run directory: {book.run.root}")
    with book.kept_true():
        book.note(rows=rows or built_rows(ready.launched, book.run))
        _launch(book, ready)
    card = _scored(book, ready) if book.record.outcome == "completed" else None
    unwritten = _written(asked, ready, card) if card and not card.is_refused and asked.write else ()
    return Ran(run=book.run, record=book.record, card=card, problems=(*(card.problems if card else ()), *unwritten))


def _written(asked: Asked, ready: Prepared, card: Scorecard) -> tuple[Problem, ...]:
    """Writes the result into the recipe's own file; why not, where it cannot be: the run has its result anyway."""
    try:
        written = write_result(asked.recipe, card.result(), launched=ready.launch.recipe)
    except ProblemsError as error:
        return error.problems
    output.say(f"{written.file}: result {'written' if written.changed else 'as it was'}")
    return ()


def _refuse_elsewhere(target: str, profile: Profile) -> None:
    """Only this machine's script is started here: a cluster's would run, if at all, in the wrong place."""
    elsewhere = next((name for name in (target, profile.target) if name != "local"), None)
    if elsewhere is not None:
        what = f"{elsewhere} cannot be launched from here; `run` starts a recipe on this machine only"
        mend = f"render its files with `openrecipes render --target {elsewhere}`, and submit those"
        raise UsageError(Problem(place=Place(key="--target"), rule="run-on-this-machine", what=what, mend=mend))


def _refuse_unsound(recipe: LocatedRecipe) -> None:
    problems = check_recipe(recipe)
    if errors_in(problems):
        raise ProblemsError(*problems)
    output.problems(problems)


def _rows_before(asked: Asked, ready: Prepared) -> RowsUsed | None:
    """The given rows, verified; None where they are to be built."""
    file = asked.sft_data or asked.profile.paths.sft_data
    if file is None:
        refuse_far_source(ready.launched)
        return None
    rows, warnings = given_rows(Path(file), ready.launched)
    output.problems(warnings)
    return rows


def _directory(asked: Asked) -> RunDirectory:
    if asked.run_dir is not None:
        return named_run_directory(asked.run_dir)
    recipe = asked.recipe.recipe
    return new_run_directory(RUNS, run_name(recipe.model, recipe.gpu.type, Path(asked.recipe.file).stem, utc_now()))


def _launch(book: RunBook, ready: Prepared) -> None:
    """Starts the script and stays with it to its end, whatever that is; then the record says how it ended."""
    run, wanted = book.run, ready.launch.recipe.result.steps_per_run
    with run_progress() as show, stop_request() as request:
        script = submit(ready.rendered, run)
        was_stopped = True
        try:
            book.note(outcome="running")
            for look in follow(script, run, steps_wanted=wanted, request=request):
                show(look)
                was_stopped = look.was_stopped
        except BaseException:
            stop(script, run, request)
            raise
        finally:
            book.ended(was_stopped=was_stopped)


def _scored(book: RunBook, ready: Prepared) -> Scorecard:
    """The score of the completed run, its result beside it where there is one."""
    run = book.run
    card = score(expected_of(ready.launch.recipe), read_run(str(run.root)))
    if not card.is_refused:
        write_json(run.result, card.document())
        write_atomically(run.recipe_with_result, text_with_result(ready.launched, card.result()).encode())
    return card
