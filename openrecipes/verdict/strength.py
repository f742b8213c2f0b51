"""Which of two results is better proven."""

from dataclasses import dataclass

from openrecipes.recipe.model import Status
from openrecipes.recipe.result import Result
from openrecipes.verdict.badge import BADGES


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Evidence:
    """How well a result is proven. Compares in field order: a log's hash, then runs, then the author's claim."""

    has_log_hash: bool
    runs: int
    claim: int

    def __str__(self) -> str:
        log = "with the hash of its log" if self.has_log_hash else "without a log's hash"
        return f"{BADGES[self.claim]}, {self.runs} run{'' if self.runs == 1 else 's'}, {log}"


def evidence(result: Result, status: Status) -> Evidence | None:
    """The evidence behind a result, or None where it holds no figure."""
    if result.tokens_per_s_per_gpu is None:
        return None
    return Evidence(has_log_hash=result.log_sha256 is not None, runs=result.runs or 0, claim=BADGES.index(status))
