"""What a layout relation is: a named condition that a legal layout meets, and what breaks it.

`check` turns what is broken into problems; a search over layouts says by the same names why one is left out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from openrecipes.catalog.model_parts import Shape


class GpuFields(Protocol):
    """The fields of a recipe's `gpu` that relations read."""

    @property
    def count(self) -> int: ...
    @property
    def per_node(self) -> int: ...


class BatchFields(Protocol):
    """The fields of a recipe's `workload` that relations read."""

    @property
    def row_tokens(self) -> int: ...
    @property
    def global_batch(self) -> int: ...


class LayoutFields(Protocol):
    """The fields of a recipe's `layout` that relations read."""

    @property
    def tp(self) -> int: ...
    @property
    def pp(self) -> int: ...
    @property
    def vpp(self) -> int: ...
    @property
    def cp(self) -> int: ...
    @property
    def ep(self) -> int: ...
    @property
    def etp(self) -> int: ...
    @property
    def dp(self) -> int: ...
    @property
    def sequence_parallel(self) -> bool: ...
    @property
    def layer_split(self) -> tuple[int, ...] | None: ...
    @property
    def max_tokens_per_gpu(self) -> int: ...
    @property
    def rows_per_microbatch(self) -> int: ...
    @property
    def dispatcher(self) -> str | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One layout of a model on GPUs; `shape` is None where the model is not in the catalogue."""

    gpu: GpuFields
    workload: BatchFields
    layout: LayoutFields
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
