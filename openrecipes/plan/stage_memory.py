"""What the memory of a pipeline stage consists of, in numbers and in terms."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from openrecipes.plan.formulas import formulas
from openrecipes.plan.parameters import StageParameters

GIB: Final = 1024**3
Instant = Literal["layer", "loss", "embedding backward", "optimizer step"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Term:
    """One term of a stage's peak, with its formula and where the formula was read."""

    name: str
    gib: float
    formula: str
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StageMemory:
    """Memory of one rank of a stage, GiB; `peak` is the most that PyTorch's allocator hands out at once.

    `instant` says when; `activations` is all that is neither weight, gradient nor optimizer state.
    """

    stage: int
    layers: int
    parameters: StageParameters
    weights: float
    gradients: float
    optimizer: float
    activations: float
    peak: float
    instant: Instant


def terms(parts: Mapping[str, int]) -> tuple[Term, ...]:
    """Parts in bytes as terms, largest first."""
    words = formulas()
    found = sorted(((key, count) for key, count in parts.items() if count), key=lambda item: -item[1])
    return tuple(
        Term(name=words[key].name, gib=count / GIB, formula=words[key].formula, source=words[key].source)
        for key, count in found
    )
