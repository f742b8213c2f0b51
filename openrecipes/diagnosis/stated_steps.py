"""How many steps a run was to take, by its record, its recipe or its own arguments, and how many it took."""

from collections.abc import Mapping

from openrecipes.diagnosis.evidence import Evidence
from openrecipes.logs.run_log import RunLog


def steps_done(log: RunLog) -> int:
    """Different steps in the log; those without a number count one by one."""
    return len({(step.step, step.line if step.step is None else 0) for step in log.steps})


def steps_wanted(evidence: Evidence) -> int | None:
    """Optimizer steps that the run was to take, or None where nothing says so."""
    if evidence.record is not None:
        return evidence.record.steps_wanted
    of_log = _of_arguments(evidence.log.arguments)
    if of_log is not None:
        return of_log
    return evidence.recipe.result.steps_per_run if evidence.recipe is not None else None


def reached_the_end(evidence: Evidence) -> bool | None:
    """Whether the log holds the run's last step; None where nothing says which that is.

    A run that goes on from a checkpoint holds fewer steps than it was to take, yet reaches the last number.
    """
    wanted = steps_wanted(evidence)
    if wanted is None:
        return None
    numbers = [step.step for step in evidence.log.steps if step.step is not None]
    from_zero = evidence.log.format in ("slime", "nemo") or 0 in numbers
    return steps_done(evidence.log) >= wanted or max(numbers, default=-1) + from_zero >= wanted


def _of_arguments(arguments: Mapping[str, str]) -> int | None:
    rollouts, rows, batch = (
        _count(arguments.get(name, "")) for name in ("num_rollout", "rollout_batch_size", "global_batch_size")
    )
    if rollouts and rows and batch:
        return max(1, rollouts * rows // batch)
    return _count(arguments.get("train_iters", ""))


def _count(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 16 else None
