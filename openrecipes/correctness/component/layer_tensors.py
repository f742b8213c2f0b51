"""The tensors of one layer of each kind, as one rank holds them, from the catalogue."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Final, Literal

from openrecipes.catalog.model_parts import Layer
from openrecipes.catalog.tensors import Role, Tensor
from openrecipes.correctness.component.subject import Subject

Start = Literal["normal", "zeros", "ones", "log uniform"]

# On the CPU: sizes above this are cut to a 64th, but not below it; two experts a rank show as much as 64.
_REDUCED_SIZE: Final = 64
_REDUCED_EXPERTS: Final = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerTensor:
    """Equal tensors of one layer. `copies` are the rank's experts, or 1; each is a tensor of its own.

    `decayed` follows Megatron: weight decay leaves out every tensor of one dimension.
    """

    name: str
    shape: tuple[int, ...]
    copies: int
    start: Start
    sparse_gradient: bool

    @property
    def elements(self) -> int:
        """Elements of one of them."""
        return prod(self.shape)

    @property
    def decayed(self) -> bool:
        """Whether weight decay applies."""
        return len(self.shape) > 1


def layer_kinds(subject: Subject) -> tuple[Layer, ...]:
    """The different kinds of layer, in order of first appearance; dense ones only where there are no experts."""
    kinds = tuple(dict.fromkeys(subject.shape.layers))
    return tuple(kind for kind in kinds if kind.mlp == "moe") or kinds


def layer_tensors(subject: Subject, *, reduced: bool) -> tuple[LayerTensor, ...]:
    """Every kind of tensor in one layer of each kind, once: what two kinds share is not repeated.

    Experts are divided by ep and etp; attention and the shared expert are whole, as at tp 1.
    """
    layers = [subject.shape.layers.index(kind) for kind in layer_kinds(subject)]
    held = (tensor for tensor in subject.model.tensors if any(layer in tensor.layers for layer in layers))
    return tuple(_layer_tensor(tensor, subject, reduced=reduced) for tensor in held)


def counted(tensors: tuple[LayerTensor, ...]) -> Iterator[tuple[LayerTensor, int]]:
    """Each tensor of the layers with its number among equal ones, from 0."""
    for tensor in tensors:
        for copy in range(tensor.copies):
            yield tensor, copy


def elements_of(tensors: tuple[LayerTensor, ...]) -> int:
    """Elements in all of them."""
    return sum(tensor.elements * tensor.copies for tensor in tensors)


def _layer_tensor(tensor: Tensor, subject: Subject, *, reduced: bool) -> LayerTensor:
    expert = tensor.role is Role.ROUTED_EXPERT
    shape = _expert_shape(tensor, subject.etp) if expert else tensor.shape
    copies = tensor.copies // subject.ep if expert else tensor.copies
    if reduced:
        shape = tuple(max(_REDUCED_SIZE, size // _REDUCED_SIZE) if size > _REDUCED_SIZE else size for size in shape)
        copies = min(copies, _REDUCED_EXPERTS)
    name = tensor.name.removeprefix("model.layers.*.").removesuffix(".weight").replace(".*", "")
    return LayerTensor(name=name, shape=shape, copies=copies, start=_start(tensor, subject), sparse_gradient=expert)


def _expert_shape(tensor: Tensor, etp: int) -> tuple[int, ...]:
    """The first projection is cut by rows, the second by columns."""
    rows, columns = tensor.shape
    return (rows, columns // etp) if tensor.name.endswith("down_proj") else (rows // etp, columns)


def _start(tensor: Tensor, subject: Subject) -> Start:
    """Values as a model has them: norm gains are 0 where the norm multiplies by 1 + p, else 1."""
    if len(tensor.shape) > 1 or tensor.name.endswith(".bias"):
        return "normal"
    if tensor.name.endswith("A_log"):
        return "log uniform"
    if tensor.role is not Role.NORM:
        return "ones"
    # The gated norm of linear attention is a plain one in every model; the flag speaks of the others.
    gated = ".linear_attn." in tensor.name
    return "zeros" if is_zero_centred(subject) and not gated else "ones"


def is_zero_centred(subject: Subject) -> bool:
    """Whether the model's norms multiply by 1 + weight."""
    return any(argument.flag == "--apply-layernorm-1p" for argument in subject.model.architecture_arguments())
