"""What forbids a figure in what the steps did: losses that are no numbers, skipped updates, other rows than stated."""

from collections.abc import Callable, Iterator
from math import isfinite, sqrt
from statistics import fmean, stdev
from typing import Final

from openrecipes import units
from openrecipes.logs.step import StepRecord
from openrecipes.problems import Problem
from openrecipes.score.scene import Scene, ranges

# Token counts come back from a rate times a time, so they carry rounding; a row too few is far more than this.
_TOKEN_TOLERANCE: Final = 1e-3
_SUPERVISED_TOLERANCE: Final = 0.02
# Rows differ in how much of them is supervised, so the mean over a short run of small batches scatters.
_STANDARD_ERRORS: Final = 3.0


def training_refusals(scene: Scene) -> Iterator[Problem]:
    """Every problem of what the window's steps trained."""
    yield from _losses(scene)
    yield from _skipped(scene)
    yield from _rows(scene)
    yield from _supervised(scene)


def _losses(scene: Scene) -> Iterator[Problem]:
    """A loss or gradient norm that is no number, or is missing for some steps only (some trainers leave a NaN out)."""
    kinds: tuple[tuple[str, str, Callable[[StepRecord], float | None]], ...] = (
        ("loss", "loss", lambda step: step.loss),
        ("grad-norm", "gradient norm", lambda step: step.grad_norm),
    )
    for rule, name, value in kinds:
        bad = [step for step in scene.scored if (number := value(step)) is not None and not isfinite(number)]
        if bad:
            yield scene.problem(
                f"{rule}-not-finite",
                f"the {name} of step {bad[0].step} is {value(bad[0])}"
                + (f", and of {len(bad) - 1} more" if bad[1:] else ""),
                "find out why the run diverged; figures of a run without finite values mean nothing",
                at=bad[0],
            )
    without = [step for step in scene.scored if step.loss is None]
    if without and len(without) < len(scene.scored):
        numbers = ranges(number for step in without if (number := scene.run.number(step)) is not None)
        yield scene.problem(
            "loss-absent",
            f"step {numbers} of the window has no loss in the log, where others have one",
            "look whether the loss was NaN there: some trainers leave it out",
            at=without[0],
        )


def _skipped(scene: Scene) -> Iterator[Problem]:
    skipped = [step for step in scene.scored if step.skipped]
    if not skipped:
        return
    everything = len(skipped) == len(scene.scored)
    count = "all steps" if everything else f"{len(skipped)} of {units.counted(len(scene.scored), 'step')}"
    yield scene.problem(
        "steps-all-skipped" if everything else "steps-skipped",
        f"{count} of the window were skipped iterations: no weight was updated",
        "mend the loss scale or the divergence behind it",
        at=skipped[0],
        severity="error" if everything else "warning",
    )


def _rows(scene: Scene) -> Iterator[Problem]:
    stated = scene.expected
    for step in scene.scored:
        if step.global_batch is not None and step.global_batch != stated.global_batch:
            yield scene.problem(
                "global-batch",
                f"step {step.step} took {units.counted(step.global_batch, 'row')}, "
                f"but the global batch is {stated.global_batch}",
                "score it with the recipe that was launched",
                at=step,
            )
            return
    for step in scene.scored:
        if step.tokens is None or _near(step.tokens * _ranks_not_counted(step.tokens, scene), stated.tokens_per_step):
            continue
        yield scene.problem(
            "tokens-per-step",
            f"step {step.step} trained on {units.counted(step.tokens, 'token')}, "
            f"but {units.counted(stated.global_batch, 'row')} of "
            f"{units.counted(stated.row_tokens, 'token')} are {stated.tokens_per_step:,}",
            "train on rows of the stated length, or state the length that the rows have",
            at=step,
        )
        return


def _ranks_not_counted(tokens: int, scene: Scene) -> int:
    """By how much the trainer's count is to be multiplied: some releases count one data-parallel rank alone.

    Where nothing says how many of these there are, whole rows that divide the batch evenly over the GPUs may be
    those of one rank.
    """
    stated = scene.expected
    if _near(tokens, stated.tokens_per_step):
        return 1
    told = scene.run.arguments.get("data_parallel_size", "")
    ranks = stated.dp or (int(told) if told.isdecimal() and len(told) < 9 else None)
    if ranks is not None:
        return ranks
    rows, rest = divmod(tokens, stated.row_tokens)
    if rest or not rows or stated.global_batch % rows or stated.gpus % (stated.global_batch // rows):
        return 1
    return stated.global_batch // rows


def _supervised(scene: Scene) -> Iterator[Problem]:
    """Fewer supervised tokens than the recipe's rows have, beyond the tolerance and the chance of the draw."""
    stated, means = scene.expected.supervised_token_ratio, list(scene.run.notes.supervised.values())
    if stated is None or not means:
        return
    row_tokens = scene.expected.row_tokens
    seen = fmean(means) / row_tokens
    chance = _STANDARD_ERRORS * stdev(means) / sqrt(len(means)) / row_tokens if len(means) > 1 else 0.0
    if seen + chance < (1 - _SUPERVISED_TOLERANCE) * stated:
        yield scene.problem(
            "supervised-tokens",
            f"{100 * seen:.1f} % of the tokens were supervised ({fmean(means):,.1f} of {row_tokens:,} a row), but "
            f"workload.dataset.build.supervised_token_ratio is {stated}",
            "train on the recipe's rows with its loss mask",
            key="rollout/response_len/mean",
        )


def _near(value: float, stated: float) -> bool:
    return abs(value - stated) <= _TOKEN_TOLERANCE * stated
