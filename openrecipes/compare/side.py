"""One of the two results that are compared: a recipe as published, or a run as its log shows it.

published_side(located, name)               a recipe's own figures
run_side(source, recipe)                    a run directory, or the logs of a run of `recipe`
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Literal

from openrecipes.compare.drift import StackFields, stack_of, stated_stack
from openrecipes.compare.job_stack import job_stack
from openrecipes.compare.printed_stack import printed_stack
from openrecipes.compare.rates import Rate, rate_of_result, rate_of_times
from openrecipes.figures.comparability import Comparable, comparable
from openrecipes.figures.throughput import step_time_of_rate
from openrecipes.logs.run_log import read_log
from openrecipes.logs.sources import log_files
from openrecipes.problems import Problem, UsageError
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import read_recipe
from openrecipes.runs.directory import RunDirectory, run_directory_named
from openrecipes.runs.telemetry import Telemetry
from openrecipes.score.expected import expected_of
from openrecipes.score.run_evidence import Run, read_run
from openrecipes.score.run_telemetry import run_telemetry
from openrecipes.score.running_score import slowest_rank
from openrecipes.score.score import score
from openrecipes.score.scorecard import Scorecard
from openrecipes.stack.captured import Captured


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One result. `recipe` is None for logs of which nothing says what they ran; then there is no rate either.

    `rate` is None where there is no figure, and `no_rate` says why. `stack` is what the recipe states; of a run, what
    its log printed, else what was captured in the job. `slowest` is the slowest rank, its mean step time in seconds,
    and how far over the median.
    """

    name: str
    kind: Literal["recipe", "run"]
    recipe: Recipe | None
    key: Comparable | None
    rate: Rate | None
    no_rate: str | None
    stack: StackFields
    stack_is_captured: bool = False
    log_sha256: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    environment: Captured | None = None
    telemetry: Telemetry | None = None
    slowest: tuple[str, float, float] | None = None
    notes: tuple[str, ...] = ()

    @property
    def step_time_s(self) -> float | None:
        """Mean step time of the scored steps in seconds."""
        if self.rate is None or self.recipe is None:
            return None
        work = self.recipe.workload
        return step_time_of_rate(
            self.rate.tokens_per_s_per_gpu, work.global_batch, work.row_tokens, self.recipe.gpu.count
        )


def published_side(recipe: Recipe, name: str) -> Side:
    """A recipe's published figures."""
    result = recipe.result
    rate = rate_of_result(result)
    unsteady = (f"{name} is unsteady: its window breaks the limits of its rule",) if result.unsteady else ()
    return Side(
        name=name,
        kind="recipe",
        recipe=recipe,
        key=comparable(recipe),
        rate=rate,
        no_rate=None if rate else f"{name} has no figure: it is not measured",
        stack=stated_stack(recipe.stack),
        log_sha256=result.log_sha256,
        notes=unsteady,
    )


def run_side(source: str, recipe: Recipe | None = None) -> Side:
    """A run by its log. A run directory knows its recipe as launched; `recipe` is what bare logs ran, None if unknown.

    Raises: UsageError if there is no such run, or its record or recipe cannot be read.
    """
    directory = run_directory_named(source)
    if directory is not None and directory.recipe.is_file():
        recipe = read_recipe(directory.recipe).recipe
    run = read_run(source)
    name = Path(source).name or source
    environment, complaint = _environment(directory)
    card = score(expected_of(recipe), run, allow_unsteady=True) if recipe else None
    seen = card.telemetry if card else run_telemetry(run, None)
    notes = (*complaint, *((f"{name} is unsteady",) if card and card.figures and card.figures.unsteady else ()))
    return Side(
        name=name,
        kind="run",
        recipe=recipe,
        key=_key(recipe, run, card) if recipe else None,
        rate=_rate(card),
        no_rate=_why_no_rate(name, card),
        stack={**(stack_of(environment) if environment else {}), **printed_stack(source)},
        stack_is_captured=environment is not None,
        log_sha256=run.log_sha256,
        arguments=run.arguments,
        environment=environment,
        telemetry=seen.readings if seen else None,
        slowest=_slowest(source),
        notes=notes,
    )


def _rate(card: Scorecard | None) -> Rate | None:
    known = card.figures if card else None
    return rate_of_times(known.tokens_per_s_per_gpu, known.scored_times_s) if known else None


def _why_no_rate(name: str, card: Scorecard | None) -> str | None:
    if card is None:
        return f"nothing says which recipe {name} ran: name it with --recipe, or name a run directory"
    if card.figures is not None:
        return None
    first: Problem = card.errors[0]
    more = len(card.errors) - 1
    return f"{name} is refused: {first.what} [{first.rule}]" + (f", and {more} more" if more else "")


def _key(recipe: Recipe, run: Run, card: Scorecard | None) -> Comparable:
    """The recipe's key with what the run itself shows: the rows it read, its rule, its weights."""
    stated = recipe.result.weights
    if card is not None and not card.is_refused:
        recipe = recipe.model_copy(update={"result": card.result()})
    if run.record is None and stated is not None:  # a bare log cannot tell what its weights were
        recipe = recipe.model_copy(update={"result": recipe.result.model_copy(update={"weights": stated})})
    rows = run.record.rows if run.record else None
    if rows is not None:
        dataset = recipe.workload.dataset.model_copy(update={"rows_sha256": rows.rows_sha256})
        recipe = recipe.model_copy(update={"workload": recipe.workload.model_copy(update={"dataset": dataset})})
    return comparable(recipe)


def _environment(directory: RunDirectory | None) -> tuple[Captured | None, tuple[str, ...]]:
    if directory is None or not directory.environment.is_file():
        return None, ()
    try:
        return job_stack(directory), ()
    except UsageError as error:
        return None, tuple(f"{problem.place}: {problem.what}" for problem in error.problems)


def _slowest(source: str) -> tuple[str, float, float] | None:
    """The slowest of several ranks' own logs by its mean step time; None for one log."""
    files = log_files([source])
    if len(files) < 2:
        return None
    means = {}
    for file in files:
        steps = [step for step in read_log([file]).steps if step.step_time_s is not None][1:]
        if steps:
            times = [step.step_time_s for step in steps if step.step_time_s is not None]
            means[Path(file).name] = replace(steps[-1], step_time_s=fmean(times))
    return slowest_rank(means)
