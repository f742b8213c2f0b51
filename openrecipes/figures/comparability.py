"""What two results must share before their figures may be compared: the key of a board, and of `compare`.

comparable(recipe)              -> Comparable, equal for results of one board
differing(one, other)           -> the fields in which two keys differ
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Final, Literal

from openrecipes.figures.window import rule_of
from openrecipes.recipe.model import Recipe

Routing = Literal["learned", "forced"]
_FORCED: Final = frozenset({"moe_router_force_load_balancing", "moe_router_force_biased"})


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Comparable:
    """What two results must share to stand on one board.

    `rows` is rows_sha256, or the rows' name where the hash is not known. `routing` is `forced` where a flag spreads
    tokens over the experts whatever the router learned; `weights` is `random` or empty, since what a router does
    depends on them too.
    """

    model: str
    gpu: str
    row_tokens: int
    global_batch: int
    precision: str
    rows: str
    routing: Routing
    weights: str
    rule: str
    timer: str


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyDifference:
    """One field in which two keys differ, with both values."""

    field: str
    one: str
    other: str

    def __str__(self) -> str:
        return f"{_WORDS[self.field]}: {self.one} and {self.other}"


_WORDS: Final = {
    "model": "model",
    "gpu": "GPU",
    "row_tokens": "tokens a row",
    "global_batch": "rows a step",
    "precision": "precision",
    "rows": "rows",
    "routing": "routing",
    "weights": "weights",
    "rule": "scoring rule",
    "timer": "timer",
}


def comparable(recipe: Recipe) -> Comparable:
    """The key that decides which board a result belongs to."""
    workload, result = recipe.workload, recipe.result
    return Comparable(
        model=recipe.model,
        gpu=recipe.gpu.type,
        row_tokens=workload.row_tokens,
        global_batch=workload.global_batch,
        precision=workload.precision,
        rows=workload.dataset.rows_sha256 or workload.dataset.build.name,
        routing=_routing(recipe),
        weights=result.weights or ("random" if recipe.trainer == "smoke" else ""),
        # Published results name no rule; their window says which one it was.
        rule=result.rule or rule_of(result.window, result.steps_per_run),
        timer=result.timer or "step_time",
    )


def differing(one: Comparable, other: Comparable) -> Iterator[KeyDifference]:
    """The fields in which two keys differ, in the key's order; none where the results are comparable."""
    mine, theirs = asdict(one), asdict(other)
    for name in mine:
        if mine[name] != theirs[name]:
            yield KeyDifference(field=name, one=_shown(name, mine[name]), other=_shown(name, theirs[name]))


def _shown(name: str, value: object) -> str:
    if name == "weights":
        return str(value) or "pre-trained"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _routing(recipe: Recipe) -> Routing:
    for name, value in (recipe.arguments or {}).items():
        if name.replace("-", "_") in _FORCED and value not in (None, False):
            return "forced"
    return "learned"
