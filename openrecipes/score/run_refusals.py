"""What forbids a figure in the run around the steps: another recipe, how it ended, what ran beside it, the clock."""

from collections.abc import Iterator, Mapping
from typing import Final

from openrecipes import units
from openrecipes.problems import Problem
from openrecipes.score.clocks import clock_refusals
from openrecipes.score.left_files import left_refusals
from openrecipes.score.scene import Scene

_DUMP: Final = "the argument dump"


def run_refusals(scene: Scene) -> Iterator[Problem]:
    """Every problem of the run as a whole."""
    yield from _ended(scene)
    yield from left_refusals(scene)
    yield from _other_recipe(scene)
    yield from _other_record(scene)
    yield from _not_a_measurement(scene)
    yield from profiled(scene)
    yield from clock_refusals(scene)


def _ended(scene: Scene) -> Iterator[Problem]:
    run, record, job = scene.run, scene.run.record, scene.run.job
    if run.log_changed:
        yield scene.problem("log-changed", "the log changed while it was read", "score it once the run has ended")
    if record is None:
        return
    if job is None or not job.has_ended:
        yield scene.problem(
            "run-not-ended", "the run has not ended, or nothing wrote its end", "score a run that came to its end"
        )
    elif job.exit_status != 0:
        stopped = f", stopped by {job.signal}" if job.signal else ""
        yield scene.problem(
            "run-failed", f"the trainer ended with status {job.exit_status}{stopped}", "score a run that completed"
        )
    elif record.outcome in ("failed", "interrupted"):
        yield scene.problem("run-failed", f"the run {record.outcome}: {record.reason}", "score a run that completed")
    if record.log is not None and record.log.sha256 != run.log_sha256:
        yield scene.problem(
            "log-changed",
            f"the log's sha256 is {run.log_sha256}, but the run record says {record.log.sha256}",
            "score the log as the run left it",
        )


def _other_recipe(scene: Scene) -> Iterator[Problem]:
    dump = scene.run.arguments
    for name, expected in scene.expected.arguments.items():
        printed = dump.get(name)
        if printed is not None and printed not in expected.printed:
            stated = " or ".join(_as_said(value) for value in expected.printed)
            yield scene.problem(
                "log-of-another-recipe",
                f"this run had {name} {_as_said(printed)}, but {expected.key} makes it {stated}",
                "score it with the recipe that was launched",
                key=name,
            )
    steps = steps_of_dump(dump)
    if scene.expected.steps_per_run is not None and steps is not None and steps != scene.expected.steps_per_run:
        yield scene.problem(
            "log-of-another-recipe",
            f"this run was to take {units.counted(steps, 'step')}, "
            f"but result.steps_per_run is {scene.expected.steps_per_run}",
            "score it with the recipe that was launched",
            key="num_rollout",
        )
    if not scene.expected.arguments:
        yield from _not_as_told(scene)


def _as_said(printed: str) -> str:
    """A value of the trainer's dump in words: its None is an argument that was not given."""
    return "unset" if printed == "None" else printed


def _other_record(scene: Scene) -> Iterator[Problem]:
    """The run record against the recipe: smoke logs, for one, print no layout."""
    record, expected = scene.run.record, scene.expected
    if record is None:
        return
    rows = record.rows
    said: tuple[tuple[str, object, object], ...] = (
        ("model", record.model, expected.model),
        ("gpu.type", record.gpu_type, expected.gpu_type),
        ("gpu.count", record.gpus, expected.gpus),
        ("result.steps_per_run", record.steps_wanted, expected.steps_per_run),
        ("workload.row_tokens", rows.row_tokens if rows else None, expected.row_tokens),
        ("workload.dataset.rows_sha256", rows.rows_sha256 if rows else None, expected.rows_sha256),
    )
    for key, of_run, stated in said:
        if of_run is not None and stated is not None and of_run != stated:
            yield scene.problem(
                "run-of-another-recipe",
                f"the run record says {of_run}, but {key} is {stated} here",
                "score it with the recipe that was launched",
                key=key,
            )


def _not_as_told(scene: Scene) -> Iterator[Problem]:
    """The dump against what the caller stated without a recipe."""
    stated = {
        "world_size": ("--gpus", scene.expected.gpus),
        "global_batch_size": ("--global-batch", scene.expected.global_batch),
    }
    for name, (option, value) in stated.items():
        printed = scene.run.arguments.get(name)
        if printed is not None and printed != str(value):
            yield scene.problem(
                "log-of-another-recipe",
                f"this run had {name} {printed}, but {option} says {value}",
                f"give {option} {printed}, if this is the right log",
                key=name,
            )


def steps_of_dump(dump: Mapping[str, str]) -> int | None:
    """Optimizer steps that the trainer was told to take, by its argument dump; None where that does not say."""
    rollouts, rows, batch = (
        _count(dump.get(name)) for name in ("num_rollout", "rollout_batch_size", "global_batch_size")
    )
    if rollouts and rows and batch:
        return rollouts * rows // batch
    return _count(dump.get("train_iters"))


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 16 else None


def _not_a_measurement(scene: Scene) -> Iterator[Problem]:
    dump = scene.run.arguments
    if dump.get("mock_data") == "True":
        yield scene.problem(
            "mock-data",
            f"{_DUMP} says mock_data True: no real rows were read",
            "train on the recipe's rows",
            key="mock_data",
        )
    if dump.get("moe_router_force_load_balancing") == "True":
        yield scene.problem(
            "forced-balance",
            f"{_DUMP} says moe_router_force_load_balancing True: tokens went to experts by lot, not by the router",
            "train with the model's own routing",
            key="moe_router_force_load_balancing",
        )


def profiled(scene: Scene) -> Iterator[Problem]:
    """A profiler or memory recorder that ran inside the window."""
    dump = scene.run.arguments
    if dump.get("record_memory_history") == "True":
        yield scene.problem(
            "profiler-running",
            f"{_DUMP} says record_memory_history True, which slows every allocation",
            "measure without it",
            key="record_memory_history",
        )
    on = [name for name in ("profile", "use_pytorch_profiler") if dump.get(name) == "True"]
    if not on:
        return
    start, end = _count(dump.get("profile_step_start")), _count(dump.get("profile_step_end"))
    outside = start is not None and end is not None and (end < scene.window.first or start > scene.window.last)
    if not outside:
        where = "in steps not stated" if start is None or end is None else f"in steps {start} to {end}"
        yield scene.problem(
            "profiler-running",
            f"{_DUMP} says {on[0]} True, {where}, inside the window {scene.window.first}..{scene.window.last}",
            "measure without the profiler, or let it end before the window",
            key=on[0],
        )
