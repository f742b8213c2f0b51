"""What the GPUs did while a window was scored, in two lines of the scorecard."""

from collections.abc import Iterator
from math import fsum

from openrecipes import units
from openrecipes.problems import printable
from openrecipes.runs.telemetry import GpuTelemetry, Spread
from openrecipes.score.run_telemetry import RunTelemetry

Line = tuple[str, str, str]


def telemetry_lines(found: RunTelemetry) -> Iterator[Line]:
    """Clock, power and temperature over all GPUs, the slowest one named; and those that were throttled."""
    gpus, where = found.readings.gpus, "in the window" if found.interval == "window" else "over the whole job"
    if not gpus:
        yield "GPU clocks", "-", f"no sample {where}"
        return
    slowest = min(gpus, key=lambda gpu: _mean(gpu.sm_clock_mhz, float("inf")))
    clock, power = _mean_of([gpu.sm_clock_mhz for gpu in gpus]), _mean_of([gpu.power_w for gpu in gpus])
    hottest = max((gpu.temperature_c.max or 0.0 for gpu in gpus), default=0.0)
    parts = [f"mean of {units.counted(len(gpus), 'GPU')} {where}"]
    if slowest.sm_clock_mhz.mean is not None and len(gpus) > 1:
        parts.append(f"slowest {slowest.sm_clock_mhz.mean:,.0f} ({_name(slowest)})")
    if power is not None:
        parts.append(f"{power:,.0f} W")
    if hottest:
        parts.append(f"up to {hottest:.0f} °C")
    yield "GPU clocks", "-" if clock is None else f"{clock:,.0f} MHz", ", ".join(parts)
    yield "throttled", *_throttled(found.readings.throttled, gpus)


def _throttled(slowed: tuple[GpuTelemetry, ...], gpus: tuple[GpuTelemetry, ...]) -> tuple[str, str]:
    if all(gpu.throttle_share is None for gpu in gpus):
        return "-", "the driver does not tell"
    if not slowed:
        return "no GPU", "by heat or by the hardware's brakes"
    worst = max(slowed, key=lambda gpu: gpu.throttle_share or 0.0)
    note = f"{_name(worst)} in {units.percent(worst.throttle_share or 0.0, 1)} of its samples"
    return f"{len(slowed)} of {units.counted(len(gpus), 'GPU')}", note


def _name(gpu: GpuTelemetry) -> str:
    return f"{printable(gpu.host)} GPU {gpu.index}"


def _mean(spread: Spread, otherwise: float) -> float:
    return otherwise if spread.mean is None else spread.mean


def _mean_of(spreads: list[Spread]) -> float | None:
    known = [spread.mean for spread in spreads if spread.mean is not None]
    return fsum(known) / len(known) if known else None
