"""What could explain that two results differ, the likeliest first.

differences(base, candidate)     -> flags, environment, stack, driver and NCCL, hardware, clocks, slowest rank, data,
                                    price
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from openrecipes import units
from openrecipes.catalog.models import model
from openrecipes.catalog.prices import default_price
from openrecipes.compare.drift import drift
from openrecipes.compare.drift_rules import DriftStatus
from openrecipes.compare.machines import clocks, hardware
from openrecipes.compare.side import Side
from openrecipes.problems import ProblemsError
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.write import plain
from openrecipes.render.command import command

Kind = Literal[
    "flags", "environment", "stack", "driver and NCCL", "hardware", "clocks", "slowest rank", "data", "price"
]
_BELOW_THE_TRAINER: Final = frozenset({"driver", "nccl", "aws_ofi_nccl", "efa", "libfabric", "network"})
# Arguments of the dump that name places and processes: they differ between any two runs.
_PLACES: Final = re.compile(
    r"(^|_)(path|paths|dir|load|save|port|ports|addr|address|host|hosts|ip|url|id|key|rank|name|file|model_name|uuid)(_|$)"
)
_KINDS: Final[tuple[Kind, ...]] = (
    *("flags", "environment", "stack", "driver and NCCL", "hardware"),
    *("clocks", "slowest rank", "data", "price"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One thing that is not the same on both sides; None is not there, or (status `unknown`) not known."""

    kind: Kind
    name: str
    base: str | None
    candidate: str | None
    status: DriftStatus = "different"
    why: str = ""

    def document(self) -> dict[str, Any]:
        """The difference as `--json` prints it."""
        return asdict(self)


def differences(base: Side, candidate: Side) -> tuple[Difference, ...]:
    """Everything that differs: by kind in the order of `Kind`; in each what surely differs before what is not known."""
    found = [
        *_flags(base, candidate),
        *_environment(base, candidate),
        *_stack(base, candidate),
        *(Difference(kind="hardware", name=n, base=b, candidate=c) for n, b, c in hardware(base, candidate)),
        *(Difference(kind="clocks", name=n, base=b, candidate=c) for n, b, c in clocks(base, candidate)),
        *_slowest(base, candidate),
        *_data(base, candidate),
        *_price(base, candidate),
    ]
    sure: dict[DriftStatus, int] = {"different": 0, "tolerated": 1, "unknown": 2, "same": 3}
    return tuple(sorted(found, key=lambda one: (_KINDS.index(one.kind), sure[one.status])))


def _pairs(base: Mapping[str, str], other: Mapping[str, str]) -> Iterator[tuple[str, str | None, str | None]]:
    for name in dict.fromkeys((*base, *other)):
        if base.get(name) != other.get(name):
            yield name, base.get(name), other.get(name)


def _flags(base: Side, candidate: Side) -> Iterator[Difference]:
    """Flags of the two commands; then what the dumps of two logs show beyond them."""
    told = set()
    if base.recipe is not None and candidate.recipe is not None:
        mine, theirs = _arguments(base.recipe), _arguments(candidate.recipe)
        for flag, one, other in _pairs(mine, theirs) if mine and theirs else ():
            told.add(flag.removeprefix("--").replace("-", "_"))
            yield Difference(kind="flags", name=flag, base=one, candidate=other)
        if base.recipe.trainer != candidate.recipe.trainer:
            yield Difference(kind="flags", name="trainer", base=base.recipe.trainer, candidate=candidate.recipe.trainer)
    if not base.arguments or not candidate.arguments:
        return
    for name, one, other in _pairs(base.arguments, candidate.arguments):
        if name not in told and not _PLACES.search(name) and "/" not in f"{one}{other}":
            yield Difference(kind="flags", name=name, base=one, candidate=other, why="as the trainer printed it")


def _arguments(recipe: Recipe) -> dict[str, str]:
    """Values by flag, those that name places of the launch left out; empty for a recipe that has no command."""
    try:
        made = command(recipe, model(recipe.model))
    except ProblemsError:
        return {}
    return {one.flag: " ".join(one.values) or "set" for one in made.arguments if not one.is_variable}


def _environment(base: Side, candidate: Side) -> Iterator[Difference]:
    """Variables as both jobs saw them, else as both recipes set them."""
    if base.environment is not None and candidate.environment is not None:
        seen = (base.environment.variables, candidate.environment.variables)
        one, other = ({name: value for name, value in each.items() if value is not None} for each in seen)
    elif base.recipe is not None and candidate.recipe is not None:
        one, other = base.recipe.env, candidate.recipe.env
    else:
        return
    for name, mine, theirs in _pairs(one, other):
        yield Difference(kind="environment", name=name, base=mine, candidate=theirs)


def _stack(base: Side, candidate: Side) -> Iterator[Difference]:
    both_captured = base.stack_is_captured and candidate.stack_is_captured
    for field in drift(base.stack, candidate.stack):
        if field.field == "gpu_settings" and both_captured:
            continue  # told among the clocks, value by value
        if field.status != "same":
            yield Difference(
                kind=_kind_of(field.field),
                name=field.field,
                base=field.stated,
                candidate=field.found,
                status=field.status,
                why=field.why,
            )
    if base.recipe is not None and candidate.recipe is not None:
        one, other = ("; ".join(side.recipe.patches) or None for side in (base, candidate) if side.recipe)
        if one != other:
            yield Difference(kind="stack", name="patches", base=one, candidate=other)


def _kind_of(field: str) -> Kind:
    if field == "gpu_settings":
        return "clocks"
    return "driver and NCCL" if field in _BELOW_THE_TRAINER else "stack"


def _slowest(base: Side, candidate: Side) -> Iterator[Difference]:
    shown = [None if side.slowest is None else _rank(*side.slowest) for side in (base, candidate)]
    if shown[0] != shown[1]:
        yield Difference(
            kind="slowest rank",
            name="mean step time",
            base=shown[0],
            candidate=shown[1],
            status="different" if all(shown) else "unknown",
        )


def _rank(who: str, time_s: float, over_median: float) -> str:
    return f"{who}: {units.seconds(time_s)}, {units.percent(over_median)} over the median"


def _data(base: Side, candidate: Side) -> Iterator[Difference]:
    """The rows: what the board's key does not hold already still differs in padding and supervision."""
    if base.recipe is None or candidate.recipe is None:
        return
    one, other = (_flat(plain(side.recipe.workload), "") for side in (base, candidate) if side.recipe)
    for name, mine, theirs in _pairs(one, other):
        status: DriftStatus = "different" if mine is not None and theirs is not None else "unknown"
        yield Difference(kind="data", name=name, base=mine, candidate=theirs, status=status)


def _flat(value: Mapping[str, Any], prefix: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, item in value.items():
        if isinstance(item, Mapping):
            found |= _flat(item, f"{prefix}{name}.")
        elif item is not None:
            found[f"{prefix}{name}"] = str(item)
    return found


def _price(base: Side, candidate: Side) -> Iterator[Difference]:
    if base.recipe is None or candidate.recipe is None:
        return
    one, other = base.recipe.gpu.instance, candidate.recipe.gpu.instance
    if one != other:
        yield Difference(kind="price", name="instance", base=one, candidate=other)
        prices = [default_price(name) if name else None for name in (one, other)]
        hourly = [None if price is None else f"${price.usd_per_gpu_hour:.4f}" for price in prices]
        if hourly[0] != hourly[1]:
            yield Difference(kind="price", name="$ a GPU an hour", base=hourly[0], candidate=hourly[1])
