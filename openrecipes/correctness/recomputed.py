"""A recipe's stored correctness evidence against the same evidence computed again.

convergence_again(stored, convergence(...))        -> one Compared for each key that the recipe states
configuration_again(block, (with_logs, without))   -> the same, by the side that the recipe's hashes are of
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from openrecipes.correctness.configuration import Configuration
from openrecipes.correctness.convergence import Convergence
from openrecipes.recipe.correctness import Convergence as ConvergenceBlock
from openrecipes.recipe.correctness import Correctness

_WORDS: Final = frozenset({"note"})
"""Keys that say in words what others say by hash."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """One key of the recipe: what it states, and what came out this time."""

    key: str
    stored: Any
    found: Any

    @property
    def same(self) -> bool:
        """Whether they are equal as a recipe writes them."""
        return bool(self.stored == self.found)

    def document(self) -> dict[str, Any]:
        """The key as `--json` prints it."""
        return {"key": self.key, "stored": self.stored, "found": self.found, "same": self.same}


def convergence_again(stored: ConvergenceBlock, found: Convergence) -> tuple[Compared, ...]:
    """Every key that the recipe states of its loss curves, but words. A refused comparison has no figure."""
    again = {} if found.is_refused else found.block().model_dump()
    return tuple(
        Compared(key=f"correctness.convergence.{key}", stored=value, found=again.get(key))
        for key, value in stored.model_dump(exclude_none=True).items()
        if key not in _WORDS
    )


def configuration_again(stored: Correctness, found: Sequence[Configuration]) -> tuple[Compared, ...]:
    """Verdict and evidence of the comparison of arguments.

    `found` are comparisons by different sources, logs or recipes alone: the one with the most equal hashes counts.
    """
    candidates = [tuple(_configuration(stored, each)) for each in found]
    return max(candidates, key=lambda keys: sum(key.same for key in keys if key.key.endswith("sha256")))


def _configuration(stored: Correctness, found: Configuration) -> Iterator[Compared]:
    yield Compared(key="correctness.configuration", stored=stored.configuration, found=found.result)
    evidence = stored.configuration_evidence
    if evidence is None:
        return
    again = found.evidence().model_dump()
    for key, value in evidence.model_dump().items():
        if key != "reference":
            yield Compared(key=f"correctness.configuration_evidence.{key}", stored=value, found=again[key])
