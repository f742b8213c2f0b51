"""How far the headline moves with the choices behind it: the same log under every rule, timer and price."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from typing import Any, Final, Literal

from openrecipes.catalog.prices import Price, all_prices
from openrecipes.figures import throughput
from openrecipes.figures.cost import usd_per_million_tokens
from openrecipes.figures.window import RULES
from openrecipes.logs.step import StepRecord
from openrecipes.score.expected import Expected
from openrecipes.score.run_evidence import Run
from openrecipes.score.scorecard import Scorecard
from openrecipes.score.step_refusals import is_plausible
from openrecipes.score.window import ScoredWindow, WindowChoice, scored_window

Timer = Literal["step_time", "train_time"]
_TIMES: Final[dict[Timer, Callable[[StepRecord], float | None]]] = {
    "step_time": lambda step: step.step_time_s,
    "train_time": lambda step: step.train_time_s,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """The headline under another choice; the changes of rate and of $ are against the scored one.

    Figures are None where `why_not` says so. `train_time` leaves out the wait for data, other ranks and checkpoints.
    """

    rule: str
    window: tuple[int, int] | None
    timer: Timer
    price: str | None
    tokens_per_s_per_gpu: float | None
    usd_per_million_tokens: float | None
    change_percent: float | None
    usd_change_percent: float | None
    why_not: str | None

    def document(self) -> dict[str, Any]:
        """The variant as `--json` prints it."""
        return asdict(self)


def sensitivity(expected: Expected, runs: Sequence[Run], card: Scorecard) -> tuple[Variant, ...]:
    """Every rule under both timers, then every other price of the GPU; nothing for a refused score.

    Of several runs, the one nearest to the headline is looked at.
    """
    if card.figures is None or card.window is None or card.steps_per_run is None:
        return ()
    run, base = _typical(runs, card, card.figures.tokens_per_s_per_gpu)
    rules = dict.fromkeys((card.window.rule, *RULES))
    variants: list[Variant] = []
    for rule in rules:
        window = card.window if rule == card.window.rule else _window(rule, card.steps_per_run)
        variants.extend(_variant((expected, run), (rule, window), timer, base) for timer in _TIMES)
    return (*variants, *_priced(expected, card, base))


def _typical(runs: Sequence[Run], card: Scorecard, headline: float) -> tuple[Run, float]:
    """The run whose rate is nearest to the headline, and that rate."""
    rates = [attempt.tokens_per_s_per_gpu for attempt in card.attempts] or [headline]
    known = [(run, rate) for run, rate in zip(runs, rates, strict=True) if rate is not None]
    return min(known, key=lambda pair: abs(pair[1] - headline))


def _window(rule: str, steps: int) -> ScoredWindow | None:
    return scored_window(WindowChoice(rule=rule), None, steps)


def _variant(
    measured: tuple[Expected, Run], chosen: tuple[str, ScoredWindow | None], timer: Timer, base: float
) -> Variant:
    (expected, run), (rule, window) = measured, chosen
    rate, why_not = _rate(expected, run, window, timer)
    price = expected.price
    return Variant(
        rule=rule,
        window=window.ends if window else None,
        timer=timer,
        price=price.id if price else None,
        tokens_per_s_per_gpu=rate,
        usd_per_million_tokens=_usd(rate, price) if rate and price else None,
        change_percent=_percent(rate, base),
        usd_change_percent=_percent(base, rate) if price else None,
        why_not=why_not,
    )


def _rate(
    expected: Expected, run: Run, window: ScoredWindow | None, timer: Timer
) -> tuple[float, None] | tuple[None, str]:
    if window is None:
        return None, "the run is too short for this rule"
    by_number = {run.number(step): step for step in run.steps}
    times: list[float] = []
    for number in range(window.first, window.last + 1):
        step = by_number.get(number)
        time = _TIMES[timer](step) if step else None
        if time is None or not is_plausible(time):
            return None, f"step {number} has no usable {timer}"
        times.append(time)
    tokens = throughput.window_tokens(window.first, window.last, expected.global_batch, expected.row_tokens)
    return throughput.tokens_per_s_per_gpu(tokens, fsum(times), expected.gpus), None


def _priced(expected: Expected, card: Scorecard, rate: float) -> Iterator[Variant]:
    names = {instance.name for instance in expected.gpu.instances} if expected.gpu else set()
    chip = expected.gpu.name if expected.gpu else None
    base = expected.price
    for price in all_prices():
        is_of_gpu = price.instance in names or (chip is not None and price.gpu == chip)
        if is_of_gpu and (base is None or price.id != base.id) and card.window is not None:
            yield Variant(
                rule=card.window.rule,
                window=card.window.ends,
                timer="step_time",
                price=price.id,
                tokens_per_s_per_gpu=rate,
                usd_per_million_tokens=_usd(rate, price),
                change_percent=0.0,
                usd_change_percent=_percent(_usd(rate, price), _usd(rate, base) if base else None),
                why_not=None,
            )


def _usd(rate: float, price: Price) -> float:
    return usd_per_million_tokens(rate, price.usd_per_instance_hour, price.gpus_per_instance)


def _percent(value: float | None, base: float | None) -> float | None:
    return 100 * (value / base - 1) if value and base else None
