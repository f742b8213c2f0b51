"""Several runs of one recipe as one result: the median run's rate, how far they lie apart, and what failed.

A run that died or was cut short is a failed attempt: it is listed, and the rest are scored. Any other refusal
refuses the whole result, since leaving out runs that came out badly would choose the result.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import fsum, sqrt
from statistics import median, stdev
from typing import Final

from openrecipes.figures.cost import usd_per_million_tokens
from openrecipes.problems import Place, Problem, in_order
from openrecipes.score.expected import Expected
from openrecipes.score.refusals import as_warning
from openrecipes.score.run_evidence import Run
from openrecipes.score.score import architecture_mfu_of, mfu_of, score
from openrecipes.score.scorecard import Attempt, BetweenRuns, Figures, Scorecard
from openrecipes.score.spread import CONFIDENCE, step_times, student_t_quantile
from openrecipes.score.window import AS_STATED, WindowChoice

FAILED: Final = frozenset({"no-steps", "log-empty", "log-binary", "steps-short", "run-failed", "run-not-ended"})

_SHAPING: Final = (
    *("world_size", "global_batch_size", "rollout_batch_size", "num_rollout", "train_iters"),
    *("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"),
    *("expert_model_parallel_size", "expert_tensor_parallel_size", "num_layers", "hidden_size", "num_experts"),
    *("max_tokens_per_gpu", "recompute_granularity", "bf16", "fp8"),
)


def score_runs(
    expected: Expected, runs: Sequence[Run], *, choice: WindowChoice = AS_STATED, allow_unsteady: bool = False
) -> Scorecard:
    """The scorecard of one run, or of several as one. `runs` holds at least one."""
    cards = [score(expected, run, choice=choice, allow_unsteady=allow_unsteady) for run in runs]
    if len(cards) == 1:
        return cards[0]
    good = [card for card in cards if not card.is_refused]
    failed = [card for card in cards if card.is_refused and {problem.rule for problem in card.errors} & FAILED]
    attempts = tuple(_attempt(run, card) for run, card in zip(runs, cards, strict=True))
    scored = [(run, card) for run, card in zip(runs, cards, strict=True) if not card.is_refused]
    problems = [*_same_log(runs), *_differing(scored), *_problems(cards, failed)]
    first = good[0] if good else cards[0]
    if not good or any(problem.severity == "error" for problem in problems):
        return _over(replace(first, figures=None, problems=in_order(problems), attempts=attempts), good)
    figures, between = _together(expected, [card.figures for card in good if card.figures])
    card = replace(first, figures=figures, problems=in_order(problems), attempts=attempts, between_runs=between)
    return _over(card, good)


def _together(expected: Expected, figures: Sequence[Figures]) -> tuple[Figures, BetweenRuns]:
    rates = sorted(figure.tokens_per_s_per_gpu for figure in figures)
    rate, cost = median(rates), expected.price
    times = tuple(time for figure in figures for time in figure.scored_times_s)
    spread = stdev(rates) if len(rates) > 1 else None
    together = Figures(
        tokens_per_s_per_gpu=rate,
        usd_per_million_tokens=usd_per_million_tokens(rate, cost.usd_per_instance_hour, cost.gpus_per_instance)
        if cost
        else None,
        step_time_cv_percent=median(figure.step_time_cv_percent for figure in figures),
        mfu=mfu_of(rate, expected),
        mfu_architecture=architecture_mfu_of(rate, expected),
        window_tokens=figures[0].window_tokens,
        scored_times_s=times,
        step_time_s=step_times(times),
        confidence_interval=_interval(rates, rate, spread) if spread is not None else figures[0].confidence_interval,
        drift=figures[0].drift if len(figures) == 1 else None,
        unsteady=any(figure.unsteady for figure in figures),
    )
    cv = None if spread is None else 100 * spread / (sum(rates) / len(rates))
    return together, BetweenRuns(runs=len(rates), median=rate, min=rates[0], max=rates[-1], cv_percent=cv)


def _interval(rates: Sequence[float], middle: float, spread: float) -> tuple[float, float] | None:
    """95 % interval between runs, by Student's t over the runs' own rates; None where it would reach zero."""
    half = student_t_quantile(CONFIDENCE, len(rates) - 1) * spread / sqrt(len(rates))
    return (middle - half, middle + half) if half < middle else None


def _attempt(run: Run, card: Scorecard) -> Attempt:
    return Attempt(
        name=run.name,
        log_sha256=run.log_sha256,
        tokens_per_s_per_gpu=card.figures.tokens_per_s_per_gpu if card.figures else None,
        refused=tuple(dict.fromkeys(problem.rule for problem in card.errors)),
    )


def _problems(cards: Sequence[Scorecard], failed: Sequence[Scorecard]) -> list[Problem]:
    """Every run's problems; those of failed attempts are warnings as long as some run is scored."""
    some_scored = any(not card.is_refused for card in cards)
    found: list[Problem] = []
    for card in cards:
        is_only_failed = some_scored and any(card is other for other in failed)
        found.extend(as_warning(problem) if is_only_failed else problem for problem in card.problems)
    return found


def _same_log(runs: Sequence[Run]) -> list[Problem]:
    logs = Counter(run.log_sha256 for run in runs)
    return [
        Problem(
            place=Place(file=run.name),
            rule="runs-repeated",
            what="this run's log is also another run's, byte for byte",
            mend="name each run once",
        )
        for run in runs
        if run.log_sha256 is not None and logs[run.log_sha256] > 1
    ]


def _differing(scored: Sequence[tuple[Run, Scorecard]]) -> Iterator[Problem]:
    """Runs that were not all of one kind: another window, other overrides, other arguments that shape the work."""
    for run, card in scored[1:]:
        first_run, first = scored[0]
        names = [name for name in _SHAPING if run.arguments.get(name) != first_run.arguments.get(name)]
        pairs: list[tuple[str, object, object]] = [
            (name, first_run.arguments.get(name), run.arguments.get(name)) for name in names
        ]
        if card.window != first.window:
            pairs.append(("window", first.window and first.window.ends, card.window and card.window.ends))
        if card.deviations != first.deviations:
            pairs.append(("deviations", first.deviations, card.deviations))
        for name, of_first, of_this in pairs:
            yield Problem(
                place=Place(file=run.name, key=name),
                rule="runs-differ",
                what=f"this run had {name} {of_this}, the first one {of_first}: they are not runs of one recipe",
                mend="score runs of one kind together",
            )


def _over(card: Scorecard, scored: Sequence[Scorecard]) -> Scorecard:
    """The card with what the scored runs share: last day, summed GPU-hours, one hash over their logs' hashes."""
    hours = [one.gpu_hours for one in scored if one.gpu_hours is not None]
    all_known = bool(scored) and len(hours) == len(scored)
    logs = sorted(f"{one.log_sha256}\n" for one in scored)
    renders = {one.render_sha256 for one in scored}
    return replace(
        card,
        runs=len(scored),
        ledger=card.ledger if len(scored) == 1 else None,
        telemetry=card.telemetry if len(scored) == 1 else None,
        measured=max((one.measured for one in scored if one.measured), default=None),
        gpu_hours=fsum(hours) if all_known else None,
        gpu_hours_note=f"sum over {len(scored)} runs; {card.gpu_hours_note}" if all_known else "not known of every run",
        log_sha256=hashlib.sha256("".join(logs).encode()).hexdigest() if len(scored) > 1 else card.log_sha256,
        render_sha256=renders.pop() if len(renders) == 1 else None,
        steps_read=min((one.steps_read for one in scored), default=card.steps_read),
        profiler=None if any(one.profiler is None for one in scored) else any(one.profiler for one in scored),
        deviations=tuple(dict.fromkeys(words for one in scored for words in one.deviations)),
    )
