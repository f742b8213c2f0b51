"""How the machines of two runs differ: the GPUs that were there, and what they did while the window was scored."""

from collections import Counter
from collections.abc import Iterator

from openrecipes import units
from openrecipes.compare.side import Side
from openrecipes.runs.telemetry import Telemetry
from openrecipes.stack.captured import Captured

Pair = tuple[str, str | None, str | None]


def hardware(base: Side, candidate: Side) -> Iterator[Pair]:
    """GPUs, CPUs and memory by recipe and by capture, where both sides tell them."""
    if base.recipe is not None and candidate.recipe is not None:
        one, other = base.recipe.gpu, candidate.recipe.gpu
        yield from _unequal("GPUs", str(one.count), str(other.count))
        yield from _unequal("GPUs a node", str(one.per_node), str(other.per_node))
    if base.environment is None or candidate.environment is None:
        return
    mine, theirs = _machine(base.environment), _machine(candidate.environment)
    for name in dict.fromkeys((*mine, *theirs)):
        yield from _unequal(name, mine.get(name), theirs.get(name))


def clocks(base: Side, candidate: Side) -> Iterator[Pair]:
    """Limits of the GPUs, then the clocks, power and throttling that telemetry saw, of each side that has it."""
    if base.environment is not None and candidate.environment is not None:
        mine, theirs = _limits(base.environment), _limits(candidate.environment)
        for name in dict.fromkeys((*mine, *theirs)):
            yield from _unequal(name, mine.get(name), theirs.get(name))
    one, other = _seen(base.telemetry), _seen(candidate.telemetry)
    for name in dict.fromkeys((*one, *other)):
        yield from _unequal(name, one.get(name), other.get(name))


def _unequal(name: str, one: str | None, other: str | None) -> Iterator[Pair]:
    if one != other:
        yield name, one, other


def _machine(found: Captured) -> dict[str, str]:
    cards = Counter(f"{card.name}, {card.memory_mib} MiB" for card in found.gpus)
    facts = {
        "GPUs there": ", ".join(f"{count} x {name}" for name, count in sorted(cards.items())),
        "CPU": f"{found.cpu.available} of {found.cpu.count} x {found.cpu.name}",
        "host memory": f"{found.memory_bytes / 2**30:.0f} GiB" if found.memory_bytes else "",
        "NVLink": str(found.nvlink_count) if found.gpus else "",
    }
    return {name: text for name, text in facts.items() if text}


def _limits(found: Captured) -> dict[str, str]:
    power = sorted({card.power_limit_w for card in found.gpus if card.power_limit_w is not None})
    clock = sorted({card.max_sm_clock_mhz for card in found.gpus if card.max_sm_clock_mhz is not None})
    facts = {
        "power limit": ", ".join(f"{watt:g} W" for watt in power),
        "highest SM clock": ", ".join(f"{mhz:g} MHz" for mhz in clock),
    }
    return {name: text for name, text in facts.items() if text}


def _seen(found: Telemetry | None) -> dict[str, str]:
    """The slowest GPU's clock, the hottest one's temperature, power, and who was throttled, within the window."""
    if found is None or not found.gpus:
        return {}
    means = [gpu.sm_clock_mhz.mean for gpu in found.gpus if gpu.sm_clock_mhz.mean is not None]
    watts = [gpu.power_w.mean for gpu in found.gpus if gpu.power_w.mean is not None]
    heat = [gpu.temperature_c.max for gpu in found.gpus if gpu.temperature_c.max is not None]
    shares = [gpu.throttle_share for gpu in found.throttled if gpu.throttle_share]
    facts = {
        "slowest GPU's mean SM clock": f"{min(means):.0f} MHz" if means else "",
        "mean power a GPU": f"{sum(watts) / len(watts):.0f} W" if watts else "",
        "hottest GPU": f"{max(heat):.0f} °C" if heat else "",
        "throttled GPUs": f"{len(shares)}, up to {units.percent(max(shares))} of the time" if shares else "0",
    }
    return {name: text for name, text in facts.items() if text}
