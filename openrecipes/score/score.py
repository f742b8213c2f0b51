"""The score of a run: its evidence against what it should have been, through the figures, to a scorecard.

    score(expected_of(recipe), read_run("runs/…"))                       -> Scorecard
    score(expected, run, choice=window_choice("last-10/1", None), allow_unsteady=True)
    scorecard.figures is None where refused; scorecard.document() for --json; scorecard.result() for the recipe

It fails closed: any problem that is an error leaves no figure at all.
"""

from math import fsum

from openrecipes.figures import throughput
from openrecipes.figures.cost import usd_per_million_tokens
from openrecipes.figures.flops import utilisation
from openrecipes.figures.gpu_hours import gpu_hours
from openrecipes.figures.mfu import mfu
from openrecipes.figures.window import DEFAULT_RULE
from openrecipes.problems import Place, Problem, errors_in, in_order
from openrecipes.score.expected import Expected
from openrecipes.score.job_ledger import job_ledger
from openrecipes.score.refusals import no_steps, refusals
from openrecipes.score.run_evidence import Run
from openrecipes.score.run_refusals import profiled, steps_of_dump
from openrecipes.score.run_telemetry import run_telemetry
from openrecipes.score.scene import Scene
from openrecipes.score.scorecard import Figures, Scorecard
from openrecipes.score.spread import drift, mean_interval, step_times
from openrecipes.score.steady import unsteady
from openrecipes.score.step_refusals import is_plausible
from openrecipes.score.window import AS_STATED, ScoredWindow, WindowChoice, scored_window

_FROM_JOB = "GPUs x (job start to end), start-up included"
_NO_JOB = "no job start and end: scored from a bare log"


def score(
    expected: Expected,
    run: Run,
    *,
    choice: WindowChoice = AS_STATED,
    allow_unsteady: bool = False,
) -> Scorecard:
    """The scorecard of one run.

    `choice` names another window than the recipe's. A window beyond the steady limits is scored only where
    `allow_unsteady` or the recipe (smoke) permits it, and says so. Raises nothing for what a log may hold.
    """
    steps = expected.steps_per_run or steps_of_dump(run.arguments) or _steps_in(run)
    window = scored_window(choice, expected.window, steps)
    if window is None:
        return _scorecard(expected, run, window, steps, figures=None, problems=_no_window(choice, run, steps))
    scene = Scene(run=run, expected=expected, window=window, steps_per_run=steps)
    problems = refusals(scene)
    may_be_unsteady = allow_unsteady or expected.always_allows_unsteady
    if errors_in(problems):
        problems = in_order((*problems, *_unsteady_too(scene, problems, may_be_unsteady=may_be_unsteady)))
        return _scorecard(expected, run, window, steps, figures=None, problems=problems)
    figures, more = _figures(scene, may_be_unsteady=may_be_unsteady)
    problems = in_order((*problems, *more))
    return _scorecard(expected, run, window, steps, figures=None if errors_in(problems) else figures, problems=problems)


def _figures(scene: Scene, *, may_be_unsteady: bool) -> tuple[Figures, tuple[Problem, ...]]:
    expected, window = scene.expected, scene.window
    times = [time for step in scene.scored if (time := step.step_time_s) is not None]
    assert len(times) == window.steps, "a window without refusals has one time a step"
    tokens = throughput.window_tokens(window.first, window.last, expected.global_batch, expected.row_tokens)
    rate = throughput.tokens_per_s_per_gpu(tokens, fsum(times), expected.gpus)
    trend = drift(times)
    broken = tuple(unsteady(scene, trend, is_allowed=may_be_unsteady))
    interval = mean_interval(times)
    cost = expected.price
    figures = Figures(
        tokens_per_s_per_gpu=rate,
        usd_per_million_tokens=usd_per_million_tokens(rate, cost.usd_per_instance_hour, cost.gpus_per_instance)
        if cost
        else None,
        step_time_cv_percent=throughput.step_time_cv_percent(times),
        mfu=mfu_of(rate, expected),
        mfu_architecture=architecture_mfu_of(rate, expected),
        window_tokens=tokens,
        scored_times_s=tuple(times),
        step_time_s=step_times(times),
        # A longer mean step is a lower rate, so the ends change places.
        confidence_interval=interval and (_rate(expected, interval[1]), _rate(expected, interval[0])),
        drift=trend,
        unsteady=bool(broken),
    )
    return figures, (*broken, *_too_fast(scene, figures.mfu))


def _unsteady_too(scene: Scene, problems: tuple[Problem, ...], *, may_be_unsteady: bool) -> tuple[Problem, ...]:
    """How a window that is refused for other reasons is unsteady as well, where its times tell."""
    if any(problem.rule.startswith("window-") for problem in problems):
        return ()  # another window has another spread
    times = [time for step in scene.scored if (time := step.step_time_s) is not None and is_plausible(time)]
    if len(times) < 2 or not len(times) == len(scene.scored) == scene.window.steps:
        return ()
    return tuple(unsteady(scene, drift(times), is_allowed=may_be_unsteady))


def _rate(expected: Expected, mean_step_time_s: float) -> float:
    return throughput.tokens_per_s_per_gpu(expected.tokens_per_step, mean_step_time_s, expected.gpus)


def mfu_of(rate: float, expected: Expected) -> float | None:
    """MFU at this rate, or None where the GPU's peak or the active parameters are not known."""
    peak = expected.gpu.peak_flops_per_s if expected.gpu else None
    if expected.no_mfu or peak is None or expected.active_params is None:
        return None
    return mfu(rate, expected.active_params.count, peak.value)


def architecture_mfu_of(rate: float, expected: Expected) -> float | None:
    """MFU by the FLOPs exact for the architecture, or None where they or the GPU's peak are not known."""
    peak = expected.gpu.peak_flops_per_s if expected.gpu else None
    if peak is None or expected.flops is None:
        return None
    return utilisation(rate, expected.flops.total, peak.value)


def _too_fast(scene: Scene, fraction: float | None) -> tuple[Problem, ...]:
    if fraction is None or fraction <= 1:
        return ()
    return (
        scene.problem(
            "mfu-above-one",
            f"this would be an MFU of {fraction:.3f}, more than the GPU's peak",
            "look at the GPU count, the batch, the row length and the unit of the step times: one of them is wrong",
        ),
    )


def _no_window(choice: WindowChoice, run: Run, steps: int) -> tuple[Problem, ...]:
    if not run.steps:
        return no_steps(run)
    problem = Problem(
        place=Place(file=run.name),
        rule="window-outside",
        what=f"{choice.rule or DEFAULT_RULE} leaves no step to score of a run of {steps}",
        mend="use another --rule or --window, or measure a longer run",
    )
    return (problem,)


def _steps_in(run: Run) -> int:
    return max((number for step in run.steps if (number := run.number(step)) is not None), default=-1) + 1


def _scorecard(
    expected: Expected,
    run: Run,
    window: ScoredWindow | None,
    steps: int,
    *,
    figures: Figures | None,
    problems: tuple[Problem, ...],
) -> Scorecard:
    ended = run.job is not None and run.job.end_unix_s is not None
    return Scorecard(
        window=window,
        steps_per_run=steps or None,
        steps_read=run.steps_read,
        figures=figures,
        problems=problems,
        active_params=expected.active_params,
        mfu_note=expected.no_mfu,
        usd_note=expected.no_price,
        price=expected.price.id if expected.price else None,
        measured=run.measured,
        runs=1,
        profiler=_profiler(expected, run, window, steps),
        gpu_hours=_gpu_hours(expected, run),
        gpu_hours_note=_FROM_JOB if ended else _NO_JOB,
        log_sha256=run.log_sha256,
        render_sha256=run.record.render_sha256 if run.record else None,
        weights="random" if expected.starts_from_random_weights or run.starts_from_random_weights else None,
        deviations=run.record.deviations if run.record else (),
        flops=expected.flops,
        ledger=job_ledger(run, window, expected.gpus),
        telemetry=run_telemetry(run, window),
    )


def _gpu_hours(expected: Expected, run: Run) -> float | None:
    job = run.job
    if job is None or job.end_unix_s is None or job.end_unix_s <= job.start_unix_s:
        return None
    return gpu_hours(expected.gpus, job.start_unix_s, job.end_unix_s)


def _profiler(expected: Expected, run: Run, window: ScoredWindow | None, steps: int) -> bool | None:
    """Whether a profiler ran in the window, by the argument dump; None where the log has none."""
    if not run.arguments or window is None:
        return None
    return any(profiled(Scene(run=run, expected=expected, window=window, steps_per_run=steps)))
