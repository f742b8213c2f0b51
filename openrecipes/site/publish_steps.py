"""Writes the steps behind a recipe's result beside the recipe, from the very run that was scored."""

from collections.abc import Iterator
from math import isfinite
from pathlib import Path

from pydantic import ValidationError

from openrecipes.problems import Place, Problem, ProblemsError
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.runs.json_files import write_json
from openrecipes.score.job_ledger import job_ledger
from openrecipes.score.run_evidence import Run
from openrecipes.score.window import ScoredWindow
from openrecipes.site.step_series import LedgerPhase, Step, StepSeries, series_file


def publish_steps(located: LocatedRecipe, run: Run, reference: Run | None = None) -> Path:
    """The file `<recipe>.steps.json`, written.

    Raises: ProblemsError if the run's log is not the one that the result names, or a run has no numbered step, or
    numbers that no training has.
    """
    recipe, place = located.recipe, located.place("result.log_sha256")
    stored = recipe.result.log_sha256
    if stored is None or run.log_sha256 != stored:
        what = f"log {stored}, but {run.name} is {run.log_sha256}" if stored else "the result names no log"
        mend = "name the run that was scored, or score this one with `openrecipes score --write` first"
        raise ProblemsError(Problem(place=place, rule="steps-log", what=what, mend=mend))
    path = series_file(Path(located.file))
    write_json(path, _series(stored, recipe, run, reference))
    return path


def _series(log_sha256: str, recipe: Recipe, run: Run, reference: Run | None) -> StepSeries:
    try:
        return StepSeries(
            log_sha256=log_sha256,
            steps=_steps(run),
            ledger=_ledger(recipe, run),
            reference_log_sha256=reference.log_sha256 if reference else None,
            reference_steps=_steps(reference) if reference else None,
        )
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        what = f"its log has {place} beyond what a file of steps holds"
        mend = "look at what was logged there: `openrecipes steps`"
        raise ProblemsError(Problem(place=Place(file=run.name), rule="steps-log", what=what, mend=mend)) from error


def _steps(run: Run) -> tuple[Step, ...]:
    found = tuple(_numbered(run))
    if not found:
        what, mend = "its log holds no numbered step", "name a run whose log has steps"
        raise ProblemsError(Problem(place=Place(file=run.name), rule="steps-log", what=what, mend=mend))
    return found


def _numbered(run: Run) -> Iterator[Step]:
    for record in run.steps:
        number, time = run.number(record), record.step_time_s
        if number is not None and number >= 0:
            yield Step(
                step=number,
                step_time_s=time if time is not None and isfinite(time) and time > 0 else None,
                loss=record.loss if record.loss is not None and isfinite(record.loss) else None,
            )


def _ledger(recipe: Recipe, run: Run) -> tuple[LedgerPhase, ...] | None:
    first, last = recipe.result.window
    found = job_ledger(run, ScoredWindow(rule=recipe.result.rule or "", first=first, last=last), recipe.gpu.count)
    if found is None:
        return None
    return tuple(
        LedgerPhase(names=phase.names, seconds=phase.seconds, gpu_hours=phase.gpu_hours) for phase in found.phases
    )
