"""The figures of a steady window, or the problems that forbid them."""

import datetime
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from openrecipes import units
from openrecipes.figures.flops import FORMULA_ID as FLOPS_FORMULA
from openrecipes.figures.flops import TokenFlops
from openrecipes.figures.mfu import FORMULA_ID as MFU_FORMULA
from openrecipes.figures.throughput import TOKEN_DEFINITION
from openrecipes.problems import Problem, errors_in
from openrecipes.recipe.result import ActiveParams, Result
from openrecipes.recipe.write import json_ready, plain
from openrecipes.runs.ledger import Ledger
from openrecipes.score.run_telemetry import RunTelemetry
from openrecipes.score.spread import Drift, StepTimes
from openrecipes.score.window import STEADY_LIMITS, ScoredWindow

TIMER: Final = "step_time"


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """All digits of one window's figures; None has its reason in the scorecard's notes.

    `mfu_architecture` counts the FLOPs exact for the architecture, where `mfu` counts 6 a parameter.
    `scored_times_s` are the window's step times in order; of several runs, one run's after the other.
    """

    tokens_per_s_per_gpu: float
    usd_per_million_tokens: float | None
    step_time_cv_percent: float
    mfu: float | None
    mfu_architecture: float | None
    window_tokens: int
    scored_times_s: tuple[float, ...]
    step_time_s: StepTimes
    confidence_interval: tuple[float, float] | None
    drift: Drift | None
    unsteady: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class BetweenRuns:
    """Several runs of one recipe: how many were scored, and how far their tokens/s/GPU lie apart."""

    runs: int
    median: float
    min: float
    max: float
    cv_percent: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One of several runs: its log, and its figure or the rules that refused it."""

    name: str
    log_sha256: str | None
    tokens_per_s_per_gpu: float | None
    refused: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scorecard:
    """One run's score, or several runs' as one. `figures` is None exactly where `problems` holds an error."""

    window: ScoredWindow | None
    steps_per_run: int | None
    steps_read: int
    figures: Figures | None
    problems: tuple[Problem, ...]
    active_params: ActiveParams | None
    mfu_note: str | None
    usd_note: str | None
    price: str | None
    measured: datetime.date | None
    runs: int
    profiler: bool | None
    gpu_hours: float | None
    gpu_hours_note: str
    log_sha256: str | None
    render_sha256: str | None
    weights: str | None
    deviations: tuple[str, ...]
    flops: TokenFlops | None = None
    ledger: Ledger | None = None
    telemetry: RunTelemetry | None = None
    between_runs: BetweenRuns | None = None
    attempts: tuple[Attempt, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Whether an error forbids the figures."""
        return self.figures is None

    @property
    def note(self) -> str | None:
        """Why MFU, and $ with it, are null; None where there is nothing to say."""
        return "; ".join(note for note in (self.mfu_note, self.usd_note) if note) if self.mfu_note else None

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that forbid the figures."""
        return errors_in(self.problems)

    def document(self) -> dict[str, Any]:
        """The score as `--json` prints it: the result's keys first, full floats, nulls where refused."""
        known = self.figures
        keys: dict[str, Any] = {
            "tokens_per_s_per_gpu": known.tokens_per_s_per_gpu if known else None,
            "usd_per_million_tokens": known.usd_per_million_tokens if known else None,
            "step_time_cv_percent": known.step_time_cv_percent if known else None,
            "mfu": known.mfu if known else None,
            "mfu_note": self.note,
            "active_params": plain(self.active_params) if self.active_params else None,
            "measured": self.measured,
            "steps_per_run": self.steps_per_run,
            "window": list(self.window.ends) if self.window else None,
            "window_tokens": known.window_tokens if known else None,
            "runs": self.runs if known else None,
            "profiler": self.profiler,
            "gpu_hours": self.gpu_hours,
            "gpu_hours_note": self.gpu_hours_note,
            "rule": self.window.rule if self.window else None,
            "timer": TIMER,
            "token_definition": TOKEN_DEFINITION,
            "steps_read": self.steps_read,
            "log_sha256": self.log_sha256,
            "render_sha256": self.render_sha256,
            "confidence_interval": known.confidence_interval if known else None,
            "unsteady": known.unsteady if known else None,
            "weights": self.weights,
            "deviations": self.deviations,
            "step_time_s": asdict(known.step_time_s) if known else None,
            "drift": asdict(known.drift) if known and known.drift else None,
            "steady_limits": asdict(STEADY_LIMITS),
            "mfu_formula": MFU_FORMULA,
            "architecture_flops": self._architecture_flops(),
            "ledger": self.ledger.document() if self.ledger else None,
            "telemetry": self.telemetry.document() if self.telemetry else None,
            "price": self.price,
            "usd_note": self.usd_note,
            "problems": [problem.document() for problem in self.problems],
        }
        if self.attempts:
            keys["between_runs"] = asdict(self.between_runs) if self.between_runs else None
            keys["attempts"] = [asdict(attempt) for attempt in self.attempts]
        document: dict[str, Any] = json_ready(keys)
        return document

    def _architecture_flops(self) -> dict[str, Any] | None:
        """FLOPs exact for the architecture, as information beside MFU."""
        if self.flops is None:
            return None
        mfu = self.figures.mfu_architecture if self.figures else None
        return {"formula": FLOPS_FORMULA, "per_token": self.flops.total, **asdict(self.flops), "mfu": mfu}

    def result(self) -> Result:
        """The recipe's `result` block: published digits, and only those optional keys that say something.

        Raises: ValueError if the score was refused, or no recipe was scored: then there is nothing to publish.
        """
        known = self.figures
        if known is None or self.window is None or self.steps_per_run is None or self.active_params is None:
            raise ValueError("a refused score has no result")
        fields: dict[str, Any] = {
            "tokens_per_s_per_gpu": _rounded(known.tokens_per_s_per_gpu, units.tokens_per_s_per_gpu),
            "usd_per_million_tokens": _rounded(known.usd_per_million_tokens, units.usd_per_million_tokens),
            "step_time_cv_percent": units.step_time_cv_percent(known.step_time_cv_percent),
            "mfu": _rounded(known.mfu, units.mfu),
            "mfu_note": self.note,
            "active_params": self.active_params,
            "measured": self.measured,
            "steps_per_run": self.steps_per_run,
            "window": self.window.ends,
            "window_tokens": known.window_tokens,
            "runs": self.runs,
            "profiler": self.profiler,
            "gpu_hours": _rounded(self.gpu_hours, units.gpu_hours),
            "gpu_hours_note": self.gpu_hours_note,
        }
        interval = known.confidence_interval
        optional: dict[str, Any] = {
            "rule": self.window.rule,
            "timer": TIMER,
            "token_definition": TOKEN_DEFINITION,
            "steps_read": self.steps_read,
            "log_sha256": self.log_sha256,
            "render_sha256": self.render_sha256,
            "confidence_interval": interval and tuple(_rounded(end, units.tokens_per_s_per_gpu) for end in interval),
            "unsteady": True if known.unsteady else None,
            "weights": self.weights,
            "deviations": self.deviations or None,
        }
        return Result(**fields, **{key: value for key, value in optional.items() if value is not None})


def _rounded(value: float | None, digits: Callable[[float], float]) -> float | None:
    """The value at its published digits; where these would print zero, at two significant ones."""
    if value is None:
        return None
    return digits(value) or float(f"{value:.2g}")
