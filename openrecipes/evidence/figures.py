"""Every figure of a recipe's result, as claimed and as it follows from the runs.

derived_figures(claimed, derived)     -> one Figure for each key of `result` that can be derived
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from openrecipes.recipe.result import Result
from openrecipes.recipe.write import json_ready, plain

# Words of the author's own about a figure.
_WORDS: Final = frozenset({"mfu_note", "gpu_hours_note", "active_params"})
FIGURES: Final = tuple(name for name in Result.model_fields if name not in _WORDS)
"""The keys of a result that follow from its runs, those of active_params apart."""
# A claim may leave these out; where it has them, they must hold.
_MAY_BE_ABSENT: Final = frozenset({"rule", "timer", "token_definition", "steps_read", "confidence_interval"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One key of the result: what the recipe claims, what the runs give, and whether these are the same."""

    name: str
    claimed: Any
    derived: Any
    ok: bool

    def document(self) -> dict[str, Any]:
        """The figure as `--json` prints it."""
        document: dict[str, Any] = json_ready(asdict(self))
        return document


def derived_figures(claimed: Result, derived: Result | None) -> tuple[Figure, ...]:
    """Every key, in the recipe's order; none is right where nothing could be derived."""
    return tuple(_figures(claimed, derived))


def _figures(claimed: Result, derived: Result | None) -> Iterator[Figure]:
    mine, theirs = plain(claimed), plain(derived) if derived else {}
    count = "active_params.count"
    for name in Result.model_fields:
        if name == "active_params":
            active = derived.active_params.count if derived else None
            yield Figure(
                name=count,
                claimed=claimed.active_params.count,
                derived=active,
                ok=claimed.active_params.count == active,
            )
        if name in _WORDS or (mine.get(name) is None and theirs.get(name) is None):
            continue
        one, other = mine.get(name), theirs.get(name)
        is_left_out = one is None and name in _MAY_BE_ABSENT
        is_same = _same_deviations(one, other) if name == "deviations" else one == other
        yield Figure(name=name, claimed=one, derived=other, ok=derived is not None and (is_left_out or is_same))


def _same_deviations(claimed: Any, derived: Any) -> bool:
    """Whether a recipe names each deviation of its runs: with the value, or without one that is a path of the site."""
    mine, theirs = claimed or (), derived or ()
    return len(mine) == len(theirs) and all(
        one in (other, without_value(other)) for one, other in zip(mine, theirs, strict=True)
    )


def without_value(deviation: str) -> str:
    """`env.X (why)` of a recorded `env.X=/path (why)`; as it stands where the value is no absolute path."""
    name, equals, rest = deviation.partition("=")
    value, opening, why = rest.rpartition(" (cluster profile ")
    return f"{name}{opening}{why}" if equals and opening and value.startswith("/") else deviation
