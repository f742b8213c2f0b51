"""What a layout relation is: a named condition that a legal layout meets, and what breaks it.

`check` turns what is broken into problems; a search over layouts says by the same names why one is left out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openrecipes.catalog.model_parts import Shape

if TYPE_CHECKING:
    from openrecipes.layouts.case_fields import BatchFields, GpuFields, LayoutFields


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One layout of a model on GPUs; `shape` is None where the model is not in the catalogue."""

    gpu: "GpuFields"
    workload: "BatchFields"
    layout: "LayoutFields"
    shape: Shape | None

    @property
    def has_experts(self) -> bool:
        """Whether the model has routed experts; true where the model is unknown."""
        return self.shape is None or self.shape.num_experts is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Broken:
    """One relation that does not hold: the recipe's key, what is wrong with its values, what to change."""

    key: str
    what: str
    mend: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """A condition with its name. `illegal` ones keep a run from starting; the others only mislead or slow it."""

    id: str
    says: str
    find: Callable[[Case], Iterator[Broken]]
    illegal: bool = True


def relation(id: str, says: str, *, illegal: bool = True) -> Callable[[Callable[[Case], Iterator[Broken]]], Relation]:  # noqa: A002
    """Names the function below it as a relation."""
    return lambda find: Relation(id=id, says=says, find=find, illegal=illegal)
