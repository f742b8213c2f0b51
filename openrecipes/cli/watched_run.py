"""A run that somebody watches: its logs as they grow, its score so far, and the first sign of trouble."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from openrecipes.cli.watch_end import end_of
from openrecipes.diagnosis.diagnose import Diagnosis, judged
from openrecipes.diagnosis.evidence import Evidence, Success, one_run_directory
from openrecipes.diagnosis.findings import Finding, SignScanner, with_ranks
from openrecipes.diagnosis.first_cause import fatal, first_cause
from openrecipes.logs.follow import LogFollower
from openrecipes.logs.growing import GrowingLogs
from openrecipes.logs.run_log import RunLog
from openrecipes.logs.step import StepRecord
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import read_recipe
from openrecipes.score.expected import Expected, expected_of
from openrecipes.score.run_evidence import Run, first_number
from openrecipes.score.running_score import RunningScore, running_score, slowest_rank


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """Where a watched run stands. `silent_s` is how long its logs have not grown.

    `end` is why it is taken to have ended, "" where its outcome says it all; None while it may go on.
    """

    recipe: Recipe | None
    steps: tuple[StepRecord, ...]
    steps_wanted: int | None
    score: RunningScore
    trouble: Finding | None
    slowest: tuple[str, float, float] | None
    diagnosis: Diagnosis
    end: str | None
    silent_s: float

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is to come."""
        return self.end is not None

    @property
    def times_s(self) -> list[float]:
        """Step times in order, of the steps that have one."""
        return [time_s for step in self.steps if (time_s := step.step_time_s) is not None]

    def document(self) -> dict[str, Any]:
        """The look as `--json` prints it."""
        running, last = self.score, self.steps[-1] if self.steps else None
        return {
            "outcome": self.diagnosis.outcome,
            "has_ended": self.has_ended,
            "silent_s": self.silent_s,
            "steps_read": len(self.steps),
            "steps_wanted": self.steps_wanted,
            "last_step": last.document() if last else None,
            "window": list(running.window.ends) if running.window else None,
            "scored_steps": running.scored,
            "tokens_per_s_per_gpu": running.tokens_per_s_per_gpu,
            "published_tokens_per_s_per_gpu": self.recipe.result.tokens_per_s_per_gpu if self.recipe else None,
            "step_time_cv_percent": running.step_time_cv_percent,
            "left_s": running.left_s,
            "slowest": dict(zip(("who", "step_time_s", "over_median"), self.slowest, strict=True))
            if self.slowest
            else None,
            "trouble": self.trouble.document() if self.trouble else None,
            "stop_advice": [problem.document() for problem in running.lost],
            "unsteady": running.unsteady,
        }


@dataclass(kw_only=True)
class _File:
    """One growing file."""

    name: str
    signs: SignScanner = field(init=False)
    follower: LogFollower = field(init=False)
    steps: list[StepRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.signs = SignScanner(file=self.name)
        self.follower = LogFollower(file=self.name)


class WatchedRun:
    """Looks at a run's logs again and again; each look reads only what is new."""

    def __init__(self, sources: Sequence[str], recipe: Recipe | None = None) -> None:
        self._directory = one_run_directory(sources)
        of_run = self._directory.recipe if self._directory and self._directory.recipe.is_file() else None
        self._recipe = recipe or (read_recipe(of_run).recipe if of_run else None)
        self._expected: Expected | None = expected_of(self._recipe) if self._recipe else None
        self._logs = GrowingLogs(sources)
        self._files: dict[str, _File] = {}
        self._grew = time.monotonic()
        self._has_grown = False
        self._is_closed = False
        self._before: Look | None = None

    def look(self, *, is_last: bool = False) -> Look:
        """Where the run stands now; `is_last` counts an unfinished last line as it stands."""
        is_news = self._read()
        if is_last and not self._is_closed:
            is_news = self._is_closed = True
            for file in self._files.values():
                file.signs.close()
                file.steps.extend(file.follower.close())
        if not is_news and self._before is not None and self._directory is None:
            end = self._end(self._evidence(_log_of(self._files)), self._before.diagnosis)
            return replace(self._before, silent_s=self._silent_s(), end=end)
        self._before = self._look()
        return self._before

    def _look(self) -> Look:
        log = _log_of(self._files)
        evidence = self._evidence(log)
        diagnosis = judged(evidence)
        cause = first_cause(fatal(evidence.findings, log.steps))
        return Look(
            recipe=self._recipe,
            steps=log.steps,
            steps_wanted=diagnosis.steps_wanted,
            score=running_score(self._expected, self._run(log)),
            trouble=diagnosis.cause or cause,
            slowest=slowest_rank(self._latest()),
            diagnosis=diagnosis,
            end=self._end(evidence, diagnosis),
            silent_s=self._silent_s(),
        )

    def _read(self) -> bool:
        """Reads what is new; whether there was anything."""
        is_news = False
        for name, data, begins_anew in self._logs.look():
            if begins_anew or name not in self._files:
                self._files[name] = _File(name=name)
            file = self._files[name]
            file.signs.feed(data)
            file.steps.extend(file.follower.feed(data))
            is_news = True
        if is_news:
            self._has_grown = self._before is not None
            self._grew = time.monotonic()
        return is_news

    def _silent_s(self) -> float:
        """Since the logs grew, by this clock; by the files' own times where they did not while they were watched."""
        watched_s = time.monotonic() - self._grew
        if self._has_grown:
            return watched_s
        written = [Path(name).stat().st_mtime for name in self._files if Path(name).exists()]
        return max(watched_s, time.time() - max(written)) if written else watched_s

    def _evidence(self, log: RunLog) -> Evidence:
        files = list(self._files.values())
        ranks = {pid: said for file in files for pid, said in file.signs.said_ranks.items()}
        claims = [Success(file=f.name, line=f.signs.succeeded[0], text=f.signs.succeeded[1]) for f in files
                  if f.signs.succeeded]  # fmt: skip
        directory = self._directory
        return Evidence(
            log=log,
            findings=tuple(with_ranks(found, ranks, log.arguments) for file in files for found in file.signs.findings),
            success=claims[-1] if claims else None,
            record=directory.record() if directory else None,
            job=directory.job() if directory else None,
            recipe=self._recipe,
            has_random_checkpoint=directory is not None and directory.starts_from_random_weights(),
        )

    def _run(self, log: RunLog) -> Run:
        return Run(
            name=log.files[0] if log.files else "",
            steps=log.steps,
            first_number=first_number(log),
            format=log.format,
            arguments=log.arguments,
        )

    def _latest(self) -> dict[str, StepRecord]:
        return {Path(file.name).name: file.steps[-1] for file in self._files.values() if file.steps}

    def _end(self, evidence: Evidence, diagnosis: Diagnosis) -> str | None:
        texts = [file.signs.last_text for file in self._files.values()]
        return end_of(evidence, diagnosis, last_texts=texts, silent_s=self._silent_s())


def _log_of(by_name: Mapping[str, _File]) -> RunLog:
    """The log with the most steps, beside the names of all."""
    main, files = max(by_name.values(), key=lambda file: len(file.steps), default=None), tuple(by_name)
    if main is None:
        return RunLog(format=None, steps=(), problems=(), files=files)
    return RunLog(
        format=main.follower.format,
        steps=tuple(main.steps),
        problems=(),
        arguments=main.follower.arguments,
        files=(main.name, *(name for name in files if name != main.name)),
        last_stamp_s=main.signs.newest_stamp_s,
    )
